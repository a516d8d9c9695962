//! What the real Linux driver wrote and read while it ran the regression loadables, played to the model.
//!
//! A recording is a sequence of register accesses and interrupts over the DMA memory as it stood before; what must
//! come out is the golden of the loadable.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use vp_models::host::{Host as _, Memory};
use vp_models::nvdla::registers::{Unit, cdma, glb, sdp_rdma};
use vp_tests::device::Device;
use vp_tests::shared;

/// Where the driver's memory pool lies.
const POOL: u64 = 0xc000_0000;

/// A golden (`.dimg`): a header, then elements by channel, line, column.
struct Golden {
    bytes: Vec<u8>,
}

impl Golden {
    fn read(file: &Path) -> Golden {
        let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let golden = Golden { bytes };
        let [width, height, channels] = golden.size();
        assert_eq!(golden.elements().len(), width * height * channels * golden.element_bytes());
        golden
    }

    fn word(&self, at: usize) -> usize {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("4 bytes")) as usize
    }

    fn size(&self) -> [usize; 3] {
        [12, 16, 20].map(|at| self.word(at))
    }

    /// Formats 40 and 41 have one and two bytes.
    fn element_bytes(&self) -> usize {
        self.bytes[8] as usize - 39
    }

    fn elements(&self) -> &[u8] {
        &self.bytes[36..]
    }

    /// Bytes of memory that it was made from.
    fn memory_bytes(&self) -> usize {
        self.word(32)
    }

    /// Where the runtime found each element. It takes every surface for one with atoms of 32 bytes, those of
    /// nv_small included: there it saw parts of it several times, and never the rest.
    fn view<'a>(&'a self, memory: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let ([width, height, channels], bytes) = (self.size(), self.element_bytes());
        let (line, surface, lanes) = (self.word(24), self.word(28), 32 / bytes);
        let places = (0..channels)
            .flat_map(move |channel| (0..height).map(move |y| (channel, y)))
            .flat_map(move |(channel, y)| (0..width).map(move |x| (channel, y, x)));
        places.map(move |(channel, y, x)| {
            let at = channel / lanes * surface + y * line + x * 32 + channel % lanes * bytes;
            &memory[at..at + bytes]
        })
    }
}

/// Plays a recording; gives the address that the last layer wrote to.
fn play(recording: &Path, device: &mut Device) -> u64 {
    let text = std::fs::read_to_string(recording).unwrap_or_else(|error| panic!("{error}"));
    let map = device.host.map();
    let status = map.address(Unit::Glb, glb::S_INTR_STATUS);
    let flush = map.address(Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS);
    let (mut written, mut come) = (0, 0);
    for (line, number) in text.lines().zip(1..) {
        let place = format!("{}:{number}: {line}", recording.display());
        let words: Vec<&str> = line.split_whitespace().collect();
        let hex = |word: &str| u32::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{place}"));
        match words[..] {
            // The driver takes interrupts as they come, one or several at once: see below.
            ["W" | "R", address, _] if Some(hex(address)) == status => {}
            ["W", address, value] => {
                let (address, value) = (hex(address), hex(value));
                let register = map.at(address).unwrap_or_else(|| panic!("{place}: no register")).register;
                if register.name == "D_DST_BASE_ADDR_LOW" {
                    written = value.into();
                }
                device.host.write(address, value).expect("written");
            }
            ["R", address, expected] => {
                let (address, expected) = (hex(address), hex(expected));
                let mut read = device.host.read(address).expect("read");
                // The driver polls it.
                for _ in 0..1000 {
                    if Some(address) != flush || read == expected {
                        break;
                    }
                    read = device.host.read(address).expect("read");
                }
                // An RDMA that has read all it needs turns to its other group, while the recorder's waited for the
                // engine; the driver does not look at it then.
                let located = map.at(address).unwrap_or_else(|| panic!("{place}: no register"));
                let ahead = located.unit == Unit::SdpRdma && located.register == sdp_rdma::S_POINTER;
                assert!(read == expected || ahead, "{place}: {read:#x}");
            }
            ["I", bits] => {
                while come & hex(bits) != hex(bits) {
                    let seen = device.try_interrupt().unwrap_or_else(|error| panic!("{place}: {error}"));
                    assert_eq!(come & seen, 0, "{place}: again {seen:#x}");
                    come |= seen;
                }
                come &= !hex(bits);
            }
            [] => {}
            _ => panic!("{place}"),
        }
    }
    assert_eq!(come, 0, "{}: interrupts that nobody waits for", recording.display());
    written
}

/// Plays the recording of a loadable on a configuration; gives the device and where its last layer wrote.
fn played(config: &str, recordings: &Path, loadable: &str) -> (Device, u64) {
    let mut device = Device::named(config);
    let pool = std::fs::File::open(recordings.join(format!("{loadable}.pool.gz"))).expect("pool");
    let mut memory = Vec::new();
    GzDecoder::new(pool).read_to_end(&mut memory).expect("pool");
    device.host.load(Memory::Primary, POOL, &memory).expect("in memory");
    let output = play(&recordings.join(format!("{loadable}.trace")), &mut device);
    assert_eq!(device.warnings(), Vec::<String>::new());
    (device, output)
}

/// Plays a recording and compares with the loadable's golden.
fn leaves_the_golden(config: &str, loadable: &str) {
    let what = format!("driver recording {loadable}");
    let Some(recordings) = shared::folder(&what, "nvdla/driver-recordings") else { return };
    let Some(loadables) = shared::folder(&what, "nvdla/loadables") else { return };
    let (mut device, output) = played(config, &recordings, loadable);
    let golden = Golden::read(&loadables.join(config).join(loadable).join("o_000000.dimg"));
    let mut left = vec![0; golden.memory_bytes()];
    device.host.fetch(Memory::Primary, output, &mut left).expect("in memory");
    let differ = golden
        .view(&left)
        .zip(golden.elements().chunks(golden.element_bytes()))
        .filter(|(found, expected)| found != expected);
    assert_eq!(differ.count(), 0, "elements of {loadable} at {output:#x} are not the golden's");
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

#[test]
fn normalisation_on_nv_small() {
    leaves_the_golden("nv_small", "CDP_L0_0_small");
}

#[test]
fn normalisation_of_int16_on_nv_full() {
    leaves_the_golden("nv_full", "CDP_L0_0");
}

#[test]
fn convolution_on_nv_small() {
    leaves_the_golden("nv_small", "CONV_D_L0_0_small");
}

/// Four convolutions and two poolings, with layers in both groups all the time.
#[test]
fn a_network_sees_the_seven() {
    let Some(recordings) = shared::folder("driver recording of a network", "nvdla/driver-recordings") else {
        return;
    };
    let (mut device, output) = played("nv_small", &recordings, "LENET_I8_small-inv_seven");
    let mut logits = [0; 10];
    device.host.fetch(Memory::Primary, output, &mut logits).expect("in memory");
    assert_eq!(logits.map(u8::cast_signed), [-16, 7, 41, 43, -50, -34, -68, 84, 5, -17]);
}
