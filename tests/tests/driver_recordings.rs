//! What the real Linux driver wrote and read while it ran the regression loadables, played to the model.
//!
//! A recording is a sequence of register accesses and interrupts over the DMA memory as it stood before; what must
//! come out is the golden of the loadable.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use vp_models::host::{Host as _, Memory};
use vp_models::nvdla::registers::{Unit, glb};
use vp_tests::device::Device;
use vp_tests::shared;

/// Where the driver's memory pool lies.
const POOL: u64 = 0xc000_0000;

/// A golden (`.dimg`) of one-byte elements and up to 32 channels, put back from channel, line, column into the
/// order of memory.
fn golden(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (header, elements) = bytes.split_at(36);
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes")) as usize;
    let [width, height, channels] = [word(12), word(16), word(20)];
    assert!(channels <= 32 && elements.len() == width * height * channels, "{}", file.display());
    let pixels = (0..width * height).flat_map(|pixel| (0..channels).map(move |channel| (pixel, channel)));
    pixels.map(|(pixel, channel)| elements[channel * width * height + pixel]).collect()
}

/// Plays a recording; gives the address that the last layer wrote to.
fn play(recording: &Path, device: &mut Device) -> u64 {
    let text = std::fs::read_to_string(recording).unwrap_or_else(|error| panic!("{error}"));
    let map = device.host.map();
    let status = map.address(Unit::Glb, glb::S_INTR_STATUS);
    let (mut written, mut seen) = (0, 0);
    for (line, number) in text.lines().zip(1..) {
        let place = format!("{}:{number}: {line}", recording.display());
        let words: Vec<&str> = line.split_whitespace().collect();
        let hex = |word: &str| u32::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{place}"));
        match words[..] {
            ["W", address, value] => {
                let (address, value) = (hex(address), hex(value));
                let register = map.at(address).unwrap_or_else(|| panic!("{place}: no register")).register;
                if register.name == "D_DST_BASE_ADDR_LOW" {
                    written = value.into();
                }
                // The driver writes back what it has read.
                let value = if Some(address) == status { seen } else { value };
                device.host.write(address, value).expect("written");
            }
            ["R", address, expected] => {
                let (address, expected) = (hex(address), hex(expected));
                let read = device.host.read(address).expect("read");
                if Some(address) == status && expected != 0 {
                    seen = read;
                }
                assert_eq!(read, expected, "{place}");
            }
            ["I", bits] => {
                device.host.wait_interrupt().unwrap_or_else(|error| panic!("{place}: {error}"));
                let pending = device.read(Unit::Glb, glb::S_INTR_STATUS);
                assert_eq!(pending & hex(bits), hex(bits), "{place}");
            }
            [] => {}
            _ => panic!("{place}"),
        }
    }
    written
}

/// Plays the recording of a loadable on a configuration and compares with the loadable's golden.
fn leaves_the_golden(config: &str, loadable: &str) {
    let what = format!("driver recording {loadable}");
    let Some(recordings) = shared::folder(&what, "nvdla/driver-recordings") else { return };
    let Some(loadables) = shared::folder(&what, "nvdla/loadables") else { return };
    let mut device = Device::named(config);
    let pool = std::fs::File::open(recordings.join(format!("{loadable}.pool.gz"))).expect("pool");
    let mut memory = Vec::new();
    GzDecoder::new(pool).read_to_end(&mut memory).expect("pool");
    device.host.load(Memory::Primary, POOL, &memory).expect("in memory");

    let output = play(&recordings.join(format!("{loadable}.trace")), &mut device);

    let golden = golden(&loadables.join(config).join(loadable).join("o_000000.dimg"));
    let mut left = vec![0; golden.len()];
    device.host.fetch(Memory::Primary, output, &mut left).expect("in memory");
    assert!(left == golden, "{loadable}: the output at {output:#x} is not the golden");
    assert_eq!(device.warnings(), Vec::<String>::new());
}

#[test]
fn relu_of_int8() {
    leaves_the_golden("nv_large", "SDP_X1_L0_0_large");
}

#[test]
fn relu_of_int16() {
    leaves_the_golden("nv_full", "SDP_X1_L0_0");
}

#[test]
fn pooling_on_nv_large() {
    leaves_the_golden("nv_large", "PDP_L0_0_large");
}

#[test]
fn pooling_on_nv_full() {
    leaves_the_golden("nv_full", "PDP_L0_0");
}
