//! Tests of what is read, and of how what is wrong is said.

use super::*;
use crate::platform::{Description, Platform};

fn read(text: &str) -> Result<Vec<String>, String> {
    let platform = Platform::build(&Description::named("nv_small").unwrap()).unwrap();
    let ports = platform.ports();
    let config = platform.description().nvdla().map(|nvdla| &nvdla.config);
    let faults = parse(text, &Surroundings { ports: &ports, nvdla: config, room: 3 });
    let said = |faults: Vec<Fault>| faults.iter().map(ToString::to_string).collect();
    faults.map(said).map_err(|error| error.to_string())
}

#[test]
fn every_kind_is_read_with_its_keys() {
    for (text, said) in [
        ("kind = 'error'\nport = 'dbb0'", "error at dbb0: SLVERR; once"),
        (
            "kind = 'error'\nport = 'dbb0'\ndirection = 'write'\naddress = 0x80000000\nbytes = 64\n\
             response = 'decerr'\nevery = 4",
            "error at dbb0, writes at 0x80000000 to 0x8000003f: DECERR; every 4",
        ),
        (
            "kind = 'stall'\nport = 'dbb0'\nchannel = 'r'\ncycles = 500\nafter = 3\ntimes = 2",
            "stall of R at dbb0: 500 cycles; after 3; at most 2 times",
        ),
        (
            "kind = 'stall'\nport = 'dbb0'\nchannel = 'aw'\nat = '2 us'",
            "stall of AW at dbb0: for ever; from 2 µs on; once",
        ),
        ("kind = 'lost-interrupt'\nafter = 1", "lost-interrupt; after 1; once"),
        (
            "kind = 'delayed-interrupt'\ncycles = 9\nprobability = 0.5\nseed = 7",
            "delayed-interrupt: 9 cycles; probability 0.5, seed 7",
        ),
        (
            "kind = 'spurious-interrupt'\ncycles = 9\nat = '5 us'",
            "spurious-interrupt: 9 cycles; from 5 µs on; once",
        ),
        (
            "kind = 'memory-flip'\nport = 'dbb0'\naddress = 0x80000010\nbit = 7",
            "memory-flip at dbb0: bit 7 of 0x80000010; once",
        ),
        (
            "kind = 'register-flip'\nregister = 'PDP.D_DATA_CUBE_IN_WIDTH'\nbit = 3\ngroup = 1",
            "register-flip: bit 3 of PDP.D_DATA_CUBE_IN_WIDTH, group 1; once",
        ),
        ("kind = 'silent-partner'\nport = 'dbb0'", "silent-partner at dbb0; once"),
        ("kind = 'failing-partner'\nport = 'csb0'", "failing-partner at csb0; once"),
    ] {
        assert_eq!(read(&format!("[[fault]]\n{text}\n")), Ok(vec![said.to_owned()]));
    }
}

#[test]
fn refusals_name_line_and_key_and_what_would_be_right() {
    let error = "kind = 'error'\nport = 'dbb0'";
    for (text, said) in [
        ("kind = 'lost-interupt'", "line 2: fault 1: kind: found `lost-interupt`, expected one of `error`, "),
        ("kind = 'lost-interupt'", "; nearest: lost-interrupt"),
        ("port = 'dbb0'", "line 1: fault 1: `kind` is missing"),
        ("kind = 'error'", "line 1: fault 1: `port` is missing"),
        (
            "kind = 'error'\nport = 'sram0'",
            "line 3: fault 1: port = \"sram0\": of this platform, error can be at dbb0",
        ),
        ("kind = 'error'\nport = 'irq0'", "line 3: fault 1: port = \"irq0\""),
        (&format!("{error}\nadress = 1"), "line 4: fault 1: unknown field `adress`, expected one of"),
        (
            &format!("{error}\ncycles = 1"),
            "line 4: fault 1: unknown field `cycles`, expected one of `at`, `after`",
        ),
        (&format!("{error}\nbytes = 4"), "line 4: fault 1: `bytes` goes with `address`"),
        (
            &format!("{error}\naddress = 0x1000"),
            "line 4: fault 1: 1 bytes at 0x1000 are no part of dbb0, which spans 0x80000000 to 0xffffffff",
        ),
        (&format!("{error}\nprobability = 1.5"), "line 4: fault 1: probability = 1.5: from 0 to 1"),
        (&format!("{error}\nprobability = nan"), "line 4: fault 1: probability = NaN: from 0 to 1"),
        (&format!("{error}\nseed = 1"), "line 4: fault 1: `seed` goes with `probability`"),
        (
            &format!("{error}\nat = '1 us'\nafter = 3"),
            "line 5: fault 1: `at` and `after`: a fault strikes by one of at, after, every and probability",
        ),
        (&format!("{error}\nat = '5'"), "line 4: fault 1: at: `5` is no time"),
        (&format!("{error}\nevery = 0"), "line 4: fault 1: every = 0"),
        (&format!("{error}\ntimes = 0"), "line 4: fault 1: times = 0"),
        ("kind = 'delayed-interrupt'\ncycles = 0", "line 3: fault 1: cycles = 0: from 1 to "),
        (
            "kind = 'lost-interrupt'\nport = 'irq0'",
            "line 3: fault 1: unknown field `port`, expected one of `at`, `after`",
        ),
        ("kind = 'memory-flip'\nport = 'dbb0'\naddress = 0x80000000\nbit = 8", "line 5: fault 1: bit = 8"),
        (
            "kind = 'register-flip'\nregister = 'PDP.D_DATA_CUBE_IN_WITH'\nbit = 1",
            "line 3: fault 1: no register `PDP.D_DATA_CUBE_IN_WITH` in the nv_small map; nearest: PDP.D_DATA_CUBE_IN_WIDTH",
        ),
        (
            "kind = 'register-flip'\nregister = 'PDP.D_DATA_CUBE_IN_WIDTH'\nbit = 13",
            "line 4: fault 1: bit = 13: PDP.D_DATA_CUBE_IN_WIDTH has the bits of 0x00001fff",
        ),
        (
            "kind = 'register-flip'\nregister = 'PDP.D_OP_ENABLE'\nbit = 0",
            "line 3: fault 1: PDP.D_OP_ENABLE cannot be flipped",
        ),
        (
            "kind = 'spurious-interrupt'\ncycles = 9\nat = '5 us'\ntimes = 2",
            "line 5: fault 1: times = 2: at a time a spurious-interrupt happens once",
        ),
        ("kind = 'error", "line 2: "),
    ] {
        let refused = read(&format!("[[fault]]\n{text}\n")).unwrap_err();
        assert!(refused.contains(said), "{refused}\n{said}");
    }
}

#[test]
fn no_more_are_read_than_there_is_room_for() {
    let many = "[[fault]]\nkind = 'lost-interrupt'\n".repeat(4);
    assert_eq!(read(&many).unwrap_err(), "line 7: fault 4: a platform has at most 256 faults");
    assert_eq!(read("").unwrap(), [""; 0]);
}
