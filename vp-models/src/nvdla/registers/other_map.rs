//! Tells when what is accessed are the registers of another map: a driver built for that one waits for ever, as on
//! hardware, and nothing else says why.

use super::{Access, Family, Grouping, Located, RegisterMap, Unit};
use crate::checkpoint::{Checkpoint, CheckpointError};

/// Stands in front of the register maps that accesses fit.
const OTHER_MAPS: &str = "the accesses fit the register map of ";

/// Returns the register maps that a warning names as those that accesses fit, if it is of a driver for another map.
#[must_use]
pub fn maps_that_fit(warning: &str) -> Vec<RegisterMap> {
    let behind = warning.split_once(OTHER_MAPS).map(|(_, behind)| behind.split(';').next());
    let named = behind.flatten().unwrap_or_default();
    RegisterMap::ALL.into_iter().filter(|map| named.contains(map.name())).collect()
}

/// Accesses that several maps of different drivers explain, before it is said without knowing which.
const UNDECIDED: u32 = 4;

/// Polls in a row that say as much as an access that the map has no register for.
const POLLS: u32 = 256;

/// The largest value that a driver writes to `S_POINTER`: the field PRODUCER.
const POINTER: u32 = 1;

/// Evidence for other maps.
///
/// The maps overlap: a driver for another one first touches registers that both have. So the evidence is an access that this
/// map has no register for, and another has; what the other has no register for takes its evidence back. A driver may also wait for a
/// status of the other map where this one has what only software changes: it accesses nothing else then, and the evidence is how often.
#[derive(Clone, Debug)]
pub(crate) struct OtherMap {
    map: RegisterMap,
    /// For each of [`RegisterMap::ALL`] the accesses that it has a register for and this one has not, each [`POLLS`], since the last that it
    /// has none for itself; and the polls since the last other access.
    evidence: [u32; RegisterMap::ALL.len()],
    is_said: bool,
}

impl OtherMap {
    /// Nothing was accessed yet, and the device has `map`.
    pub(crate) fn new(map: RegisterMap) -> OtherMap {
        OtherMap { map, evidence: [0; RegisterMap::ALL.len()], is_said: false }
    }

    /// A register was read, or `written`; what a person should know then, once.
    pub(crate) fn accessed(&mut self, address: u32, written: Option<u32>) -> Option<String> {
        let here = served(self.map, address, written);
        let reads_setting = written.is_none() && here.as_ref().is_some_and(is_setting);
        if self.is_said || here.is_some() && !reads_setting && self.evidence == [0; RegisterMap::ALL.len()] {
            return None;
        }
        let mut polls = false;
        for (evidence, map) in self.evidence.iter_mut().zip(RegisterMap::ALL) {
            *evidence = match served(map, address, written) {
                None => 0,
                Some(there) if reads_setting && is_status(&there) => {
                    polls = true;
                    *evidence + 1
                }
                Some(_) => *evidence - *evidence % POLLS + if here.is_none() { POLLS } else { 0 },
            };
        }
        let most =
            self.evidence.into_iter().max().filter(|most| (here.is_none() || polls) && *most >= POLLS)?;
        let fitting = RegisterMap::ALL.into_iter().zip(self.evidence);
        let fitting: Vec<RegisterMap> =
            fitting.filter(|(_, evidence)| *evidence == most).map(|(map, _)| map).collect();
        if fitting.iter().any(|map| map.family() != fitting[0].family()) && most < UNDECIDED * POLLS {
            return None;
        }
        self.is_said = true;
        Some(self.text(address, written, &fitting))
    }

    fn text(&self, address: u32, written: Option<u32>, fitting: &[RegisterMap]) -> String {
        let map = self.map;
        let accessed = match (written, map.at(address).filter(is_weights)) {
            (Some(value), Some(weights)) => format!(
                "0x{address:05x} is written with {value:#x}, which in the register map {map} leaves {weights}'s clients without weights"
            ),
            (Some(_), None) => {
                format!("0x{address:05x} is written, where the register map {map} has no register for that")
            }
            (None, _) if let Some(setting) = map.at(address) => format!(
                "0x{address:05x} is read over and over, where the register map {map} has {setting}, which no hardware changes"
            ),
            (None, _) => {
                format!("0x{address:05x} is read, where the register map {map} has no register for that")
            }
        };
        let named = |map: &RegisterMap| {
            let register = served(*map, address, written).map_or_else(String::new, |it| format!(" ({it})"));
            format!("{map}{register}")
        };
        let others = fitting.iter().map(named).collect::<Vec<_>>().join(" and ");
        let advice = match fitting.iter().all(|other| other.family() == map.family()) {
            true => format!("what uses them needs a platform of that map, and this one's is {map}"),
            false => format!("a driver for {map} is needed: NVIDIA's is built {}", built(map)),
        };
        format!("{accessed}; {OTHER_MAPS}{others}; {advice}")
    }
}

/// The register that an access reaches, if the map has one there. Nobody writes to the capability ROM; to registers of
/// other units that cannot be written programs do write, NVIDIA's conformance traces among them. Nor does anybody leave the clients of
/// a memory interface without weights, which then never have their turn; another map's pointer of register groups looks so.
fn served(map: RegisterMap, address: u32, written: Option<u32>) -> Option<Located> {
    map.at(address).filter(|located| match written {
        None => true,
        Some(_) if located.unit == Unit::Cfgrom => false,
        Some(value) => !is_weights(located) || value > POINTER,
    })
}

/// Returns true if a register is of a register group and only software changes it.
fn is_setting(located: &Located) -> bool {
    located.register.grouping == Grouping::Duplicated && located.register.access == Access::ReadWrite
}

/// Returns true if hardware says in a register how it stands.
fn is_status(located: &Located) -> bool {
    located.unit != Unit::Cfgrom && located.register.access == Access::ReadOnly
}

/// Returns true if a register has the weights of several clients of a memory interface.
fn is_weights(located: &Located) -> bool {
    use super::mcif::{CFG_RD_WEIGHT_0, CFG_RD_WEIGHT_1, CFG_WR_WEIGHT_0};
    let several = [CFG_RD_WEIGHT_0, CFG_RD_WEIGHT_1, CFG_WR_WEIGHT_0];
    matches!(located.unit, Unit::Mcif | Unit::Cvif) && several.contains(&located.register)
}

/// Returns how NVIDIA's Linux driver is built for a map (docs/qemu.md, "NVIDIA's driver").
fn built(map: RegisterMap) -> &'static str {
    match map.family() {
        Family::Full => "for it without a switch",
        Family::Small => "for it with -DDLA_2_CONFIG (until 2019 -DDLA_SMALL_CONFIG)",
    }
}

impl OtherMap {
    pub(crate) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let OtherMap { map: _, evidence, is_said } = self;
        at.fixed(evidence)?;
        at.check(evidence.iter().all(|count| *count < u32::MAX / 2), "more accesses than there can be")?;
        at.value(is_said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Option<u32> = None;
    const WRITE: Option<u32> = Some(0x0101_0101);

    /// Returns the number of accesses that it takes until something is said, and what is said.
    fn said(map: RegisterMap, accesses: &[(u32, Option<u32>)]) -> Option<(usize, String)> {
        let mut other = OtherMap::new(map);
        let mut told = accesses.iter().enumerate().filter_map(|(index, &(address, written))| {
            other.accessed(address, written).map(|text| (index + 1, text))
        });
        let first = told.next();
        assert_eq!(told.next(), None, "said twice");
        first
    }

    #[test]
    fn a_maps_own_registers_say_nothing() {
        for map in RegisterMap::ALL {
            let all: Vec<(u32, Option<u32>)> = map.registers().map(|it| (it.address, READ)).collect();
            assert_eq!(said(map, &all), None, "{map}");
        }
    }

    #[test]
    fn what_no_map_has_says_nothing() {
        assert_eq!(said(RegisterMap::Small, &[(0x3_0000, READ), (0x3_0000, WRITE), (0x1010, READ)]), None);
    }

    /// `S_STATUS` of CDMA, and of nv_full the weights of CVIF's clients.
    #[test]
    fn a_write_to_a_register_that_is_only_read_says_nothing() {
        assert_eq!(said(RegisterMap::Small, &[(0x3000, WRITE), (0x3000, READ)]), None);
    }

    /// The interrupt mask of nv_full is a word of the other maps' ROM.
    #[test]
    fn a_write_to_the_rom_that_the_other_map_does_not_have_is_evidence() {
        let (accesses, text) =
            said(RegisterMap::Small, &[(0xd004, READ), (0x4, READ), (0x4, WRITE), (0x4, WRITE)]).unwrap();
        assert_eq!(accesses, 3);
        assert!(text.contains("the register map of nv_full (GLB.S_INTR_MASK);"), "{text}");
        assert!(text.contains("built for it with -DDLA_2_CONFIG (until 2019 -DDLA_SMALL_CONFIG)"), "{text}");
    }

    #[test]
    fn the_driver_of_both_later_maps_is_named_at_its_first_access_outside_the_full_map() {
        let (accesses, text) = said(RegisterMap::Full, &[(0xb004, READ), (0x1004, READ)]).unwrap();
        assert_eq!(accesses, 2);
        assert!(text.contains("nv_small (GLB.S_INTR_MASK) and nv_large (GLB.S_INTR_MASK)"), "{text}");
        assert!(text.contains("built for it without a switch"), "{text}");
    }

    /// Rubik of nv_full lies where nv_large has BDMA.
    #[test]
    fn what_two_maps_explain_waits_for_what_tells_them_apart() {
        let rubik = [(0x10004, READ), (0x10004, WRITE), (0x4, READ), (0x4, WRITE)];
        let (accesses, text) = said(RegisterMap::Small, &rubik).unwrap();
        assert_eq!(accesses, 4);
        assert!(text.contains("nv_full") && !text.contains("nv_large"), "{text}");
        let (accesses, text) = said(RegisterMap::Small, &[(0x10004, READ); 9]).unwrap();
        assert_eq!(accesses, 4);
        assert!(text.contains("nv_full (RBK.S_POINTER) and nv_large (BDMA.CFG_SRC_ADDR_HIGH)"), "{text}");
    }

    #[test]
    fn a_unit_of_a_larger_configuration_is_no_fault_of_the_drivers_build() {
        let (_, text) = said(RegisterMap::Small, &[(0xf000, READ), (0x1_1008, WRITE)]).unwrap();
        assert!(
            text.contains("nv_large (RBK.D_OP_ENABLE)") && text.contains("a platform of that map"),
            "{text}"
        );
    }

    /// A convolution of NVIDIA's driver that is built for the later maps: it selects the group of each unit and asks whether it is idle,
    /// and CDMA is where nv_full has CVIF's weights.
    #[test]
    fn a_driver_that_takes_weights_for_a_pointer_is_told_the_map_it_is_for() {
        let selects = [0x7004, 0x5004, 0x6004, 0x4004, 0x3004].map(|pointer| (pointer, Some(0)));
        for producer in [0, 1] {
            let mut accesses = selects.to_vec();
            accesses[4].1 = Some(producer);
            let (count, text) = said(RegisterMap::Full, &accesses).unwrap();
            assert_eq!(count, 5);
            assert!(
                text.starts_with(&format!(
                    "0x03004 is written with {producer:#x}, which in the register map nv_full leaves CVIF."
                )),
                "{text}"
            );
            assert!(text.contains("nv_small (CDMA.S_POINTER) and nv_large (CDMA.S_POINTER)"), "{text}");
            assert!(text.contains("built for it without a switch"), "{text}");
        }
    }

    /// NVIDIA's driver waits for a free slot of BDMA's queue before it accesses anything else.
    #[test]
    fn a_driver_that_waits_for_a_status_of_another_map_is_told_the_map_it_is_for() {
        let (count, text) = said(RegisterMap::Full, &[(0x1_0040, READ); 1000]).unwrap();
        assert_eq!(count, POLLS as usize);
        let setting = "the register map nv_full has RBK.D_DAOUT_LINE_STRIDE, which no hardware changes;";
        assert!(text.contains(setting) && text.contains("nv_large (BDMA.STATUS)"), "{text}");
        assert!(text.contains("built for it without a switch"), "{text}");
        for map in [RegisterMap::Small, RegisterMap::Large] {
            let (_, text) = said(map, &[(0x4040, READ); 1000]).unwrap();
            assert!(text.contains("nv_full (BDMA.STATUS)") && text.contains("-DDLA_2_CONFIG"), "{text}");
        }
    }

    #[test]
    fn registers_that_are_read_back_between_others_say_nothing() {
        for map in RegisterMap::ALL {
            let all: Vec<(u32, Option<u32>)> = map.registers().map(|it| (it.address, READ)).collect();
            assert_eq!(said(map, &all.repeat(1000)), None, "{map}");
        }
        let layers = [(0x1_0040, WRITE), (0x1_0040, READ), (0x1_0008, Some(1))].repeat(1000);
        assert_eq!(said(RegisterMap::Full, &layers), None);
    }

    /// A program may well wait for these: hardware changes them.
    #[test]
    fn what_hardware_changes_says_nothing_however_often_it_is_read() {
        for map in RegisterMap::ALL {
            let changes = |it: &Located| !is_setting(it) || it.register.name == "D_OP_ENABLE";
            for located in map.registers().filter(changes) {
                assert_eq!(said(map, &[(located.address, READ); 2000]), None, "{located} of {map}");
            }
        }
    }

    #[test]
    fn weights_say_nothing() {
        for weights in [0x0101_0101, 0x0100_0000, 0x0001_0000, 0x100, 0xff] {
            let written =
                [0x2000, 0x2004, 0x200c, 0x3000, 0x3004, 0x300c].map(|address| (address, Some(weights)));
            assert_eq!(said(RegisterMap::Full, &written), None, "{weights:#x}");
        }
        // Of these registers some clients are not in every hardware.
        assert_eq!(said(RegisterMap::Full, &[(0x3008, Some(1)), (0x3010, Some(0))]), None);
    }
}
