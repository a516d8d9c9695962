//! Tells when what is accessed are the registers of another map: a driver built for that one waits for ever, as on
//! hardware, and nothing else says why.

use super::{Family, Located, RegisterMap, Unit};
use crate::checkpoint::{Checkpoint, CheckpointError};

/// Accesses that several maps of different drivers explain, before it is said without knowing which.
const UNDECIDED: u32 = 4;

/// What speaks for other maps.
///
/// The maps overlap: a driver for another one first touches registers that both have. So the evidence is an access that this
/// map has no register for, and another has; what the other has no register for takes its evidence back.
#[derive(Clone, Debug)]
pub(crate) struct OtherMap {
    map: RegisterMap,
    /// For each of [`RegisterMap::ALL`] the accesses that it has a register for and this one has not, since the last that it
    /// has none for itself.
    evidence: [u32; RegisterMap::ALL.len()],
    is_said: bool,
}

impl OtherMap {
    /// Nothing was accessed yet, and the device has `map`.
    pub(crate) fn new(map: RegisterMap) -> OtherMap {
        OtherMap { map, evidence: [0; RegisterMap::ALL.len()], is_said: false }
    }

    /// A register was accessed; what a person should know then, once.
    pub(crate) fn accessed(&mut self, address: u32, write: bool) -> Option<String> {
        let fits = served(self.map, address, write).is_some();
        if self.is_said || fits && self.evidence == [0; RegisterMap::ALL.len()] {
            return None;
        }
        for (evidence, map) in self.evidence.iter_mut().zip(RegisterMap::ALL) {
            *evidence = match served(map, address, write) {
                Some(_) => *evidence + u32::from(!fits),
                None => 0,
            };
        }
        let most = self.evidence.into_iter().max().filter(|most| !fits && *most > 0)?;
        let fitting = RegisterMap::ALL.into_iter().zip(self.evidence);
        let fitting: Vec<RegisterMap> =
            fitting.filter(|(_, evidence)| *evidence == most).map(|(map, _)| map).collect();
        if fitting.iter().any(|map| map.family() != fitting[0].family()) && most < UNDECIDED {
            return None;
        }
        self.is_said = true;
        Some(self.text(address, write, &fitting))
    }

    fn text(&self, address: u32, write: bool, fitting: &[RegisterMap]) -> String {
        let map = self.map;
        let accessed = if write { "written" } else { "read" };
        let named = |map: &RegisterMap| {
            let register = served(*map, address, write).map_or_else(String::new, |it| format!(" ({it})"));
            format!("{map}{register}")
        };
        let others = fitting.iter().map(named).collect::<Vec<_>>().join(" and ");
        let advice = match fitting.iter().all(|other| other.family() == map.family()) {
            true => format!("what uses them needs a platform of that map, and this one's is {map}"),
            false => format!("a driver for {map} is needed: NVIDIA's is built {}", built(map)),
        };
        format!(
            "0x{address:05x} is {accessed}, where the register map {map} has no register for that; the accesses fit the \
             register map of {others}; {advice}"
        )
    }
}

/// The register that an access reaches, if the map has one there. Nobody writes to the capability ROM; to registers of
/// other units that cannot be written programs do write, NVIDIA's conformance traces among them.
fn served(map: RegisterMap, address: u32, write: bool) -> Option<Located> {
    map.at(address).filter(|located| !(write && located.unit == Unit::Cfgrom))
}

/// How NVIDIA's Linux driver is built for a map (docs/qemu.md, "NVIDIA's driver").
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

    const READ: bool = false;
    const WRITE: bool = true;

    /// How many accesses it takes until it is said, and what.
    fn said(map: RegisterMap, accesses: &[(u32, bool)]) -> Option<(usize, String)> {
        let mut other = OtherMap::new(map);
        let mut told = accesses.iter().enumerate().filter_map(|(index, &(address, write))| {
            other.accessed(address, write).map(|text| (index + 1, text))
        });
        let first = told.next();
        assert_eq!(told.next(), None, "said twice");
        first
    }

    #[test]
    fn a_maps_own_registers_say_nothing() {
        for map in RegisterMap::ALL {
            let all: Vec<(u32, bool)> = map.registers().map(|it| (it.address, READ)).collect();
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
}
