//! Places of registers: three maps over the one table.

use std::fmt;

use super::{Family, RegisterRef, Unit};
use crate::suggestion::nearest;

/// One of the published register maps: which units exist, where each sits, which field layouts apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum RegisterMap {
    /// `nv_full`: no capability ROM, GLB at 0.
    #[serde(rename = "nv_full")]
    Full,
    /// `nv_small`, `nv_small_256`, `nv_medium_512`: no secondary memory, BDMA or Rubik.
    #[serde(rename = "nv_small")]
    Small,
    /// `nv_large`, `nv_medium_1024_full`, `nv_small_256_full`: the small map plus CVIF, BDMA and Rubik slots.
    #[serde(rename = "nv_large")]
    Large,
    /// The device is no NVDLA: none of its units are there.
    #[serde(skip)]
    Foreign,
}

/// A unit and the byte address its 4 KiB begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSlot {
    /// The unit.
    pub unit: Unit,
    /// First byte address, a multiple of [`RegisterMap::SLOT_BYTES`].
    pub base: u32,
}

/// A register with its place in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// The unit that owns it.
    pub unit: Unit,
    /// Table entry of the register.
    pub register: RegisterRef,
    /// Byte address of the register.
    pub address: u32,
}

/// `PDP.D_POOLING_PADDING_CFG`.
impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.unit, self.register)
    }
}

/// No register of that name is in the map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no register `{name}` in the {map} map{}", Self::hint(*nearest))]
pub struct UnknownRegister {
    /// Name that was asked for.
    pub name: String,
    /// Map in which it was looked for.
    pub map: RegisterMap,
    /// The register with the most similar name, when one is similar at all.
    pub nearest: Option<Located>,
}

impl UnknownRegister {
    fn hint(nearest: Option<Located>) -> String {
        nearest.map(|it| format!("; nearest: {it} ({:#06x})", it.address)).unwrap_or_default()
    }
}

/// No map of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no register map `{0}`; there are nv_full, nv_small and nv_large")]
pub struct UnknownMap(pub String);

impl RegisterMap {
    /// Every map that was published.
    pub const ALL: [Self; 3] = [Self::Full, Self::Small, Self::Large];

    /// Bytes a unit owns.
    pub const SLOT_BYTES: u32 = 0x1000;

    /// Bytes of the whole register space.
    pub const SPACE_BYTES: u32 = 0x4_0000;

    /// The name of the configuration the map is named after.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "nv_full",
            Self::Small => "nv_small",
            Self::Large => "nv_large",
            Self::Foreign => "foreign",
        }
    }

    /// The field layouts of this map.
    pub const fn family(self) -> Family {
        match self {
            Self::Full => Family::Full,
            Self::Small | Self::Large | Self::Foreign => Family::Small,
        }
    }

    /// The unit in each 4 KiB slot, by rising address. Slots not named are empty: they read 0 and ignore
    /// writes.
    const fn slots(self) -> &'static [Option<Unit>] {
        use Unit::*;
        match self {
            // The slot behind GLB is GEC's, a stub without registers.
            Self::Full => &[
                Some(Glb),
                None,
                Some(Mcif),
                Some(Cvif),
                Some(Bdma),
                Some(Cdma),
                Some(Csc),
                Some(CmacA),
                Some(CmacB),
                Some(Cacc),
                Some(SdpRdma),
                Some(Sdp),
                Some(PdpRdma),
                Some(Pdp),
                Some(CdpRdma),
                Some(Cdp),
                Some(Rbk),
            ],
            Self::Small => Self::LATER.split_at(14).0,
            Self::Large => Self::LATER,
            Self::Foreign => &[],
        }
    }

    /// The slots of branch master; the small map ends before the slot of GEC.
    const LATER: &'static [Option<Unit>] = &[
        Some(Unit::Cfgrom),
        Some(Unit::Glb),
        Some(Unit::Mcif),
        Some(Unit::Cdma),
        Some(Unit::Csc),
        Some(Unit::CmacA),
        Some(Unit::CmacB),
        Some(Unit::Cacc),
        Some(Unit::SdpRdma),
        Some(Unit::Sdp),
        Some(Unit::PdpRdma),
        Some(Unit::Pdp),
        Some(Unit::CdpRdma),
        Some(Unit::Cdp),
        None,
        Some(Unit::Cvif),
        Some(Unit::Bdma),
        Some(Unit::Rbk),
    ];

    /// The units of the map, by rising address.
    pub fn units(self) -> impl Iterator<Item = UnitSlot> {
        (0..)
            .zip(self.slots())
            .filter_map(|(slot, unit)| Some(UnitSlot { unit: (*unit)?, base: slot * Self::SLOT_BYTES }))
    }

    /// The byte address a unit begins at; `None` when the map has no such unit.
    pub fn base(self, unit: Unit) -> Option<u32> {
        self.units().find(|slot| slot.unit == unit).map(|slot| slot.base)
    }

    /// The byte address of a unit's register; `None` when the map has no such unit.
    pub fn address(self, unit: Unit, register: RegisterRef) -> Option<u32> {
        self.base(unit).map(|base| base + u32::from(register.offset))
    }

    /// The unit whose slot holds a byte address, and the offset inside it.
    pub fn unit_at(self, address: u32) -> Option<(Unit, u32)> {
        let unit = (*self.slots().get((address / Self::SLOT_BYTES) as usize)?)?;
        Some((unit, address % Self::SLOT_BYTES))
    }

    /// The register at a byte address; `None` for holes, empty slots and unaligned addresses.
    pub fn at(self, address: u32) -> Option<Located> {
        let (unit, offset) = self.unit_at(address)?;
        Some(Located { unit, register: unit.register_at(offset)?, address })
    }

    /// Every register of the map, by rising address.
    pub fn registers(self) -> impl Iterator<Item = Located> {
        self.units().flat_map(|slot| {
            slot.unit.registers().iter().map(move |&register| Located {
                unit: slot.unit,
                register,
                address: slot.base + u32::from(register.offset),
            })
        })
    }

    /// Registers whose `UNIT.NAME` contains `text`, in any case: what `vp regs` lists.
    pub fn search(self, text: &str) -> impl Iterator<Item = Located> {
        let text = text.to_ascii_uppercase();
        self.registers().filter(move |located| located.to_string().contains(&text))
    }

    /// The register of that name: `SDP.D_DP_BS_CFG`, or `NVDLA_SDP.D_DP_BS_CFG_0` as the vendor's traces and
    /// headers spell it.
    pub fn find(self, name: &str) -> Result<Located, UnknownRegister> {
        self.look_up(name).ok_or_else(|| UnknownRegister {
            name: name.to_owned(),
            map: self,
            nearest: self.nearest(name),
        })
    }

    fn look_up(self, name: &str) -> Option<Located> {
        let (unit_name, register_name) = name.split_once('.')?;
        let vendor_unit = unit_name.strip_prefix("NVDLA_");
        let unit = Unit::named(vendor_unit.unwrap_or(unit_name))?;
        let base = self.base(unit)?;
        // The vendor numbers every register, also those whose own name ends in a number: with the prefix, the
        // number is the vendor's; without it, the name as it stands comes first.
        let without_number = register_name.strip_suffix("_0");
        let (first, second) = match vendor_unit {
            Some(_) => (without_number, Some(register_name)),
            None => (Some(register_name), without_number),
        };
        let register = [first, second].into_iter().flatten().find_map(|name| unit.register(name))?;
        Some(Located { unit, register, address: base + u32::from(register.offset) })
    }

    fn nearest(self, name: &str) -> Option<Located> {
        let vendor = name.strip_prefix("NVDLA_");
        let plain = vendor.unwrap_or(name).to_ascii_uppercase();
        let trimmed = plain.strip_suffix("_0").unwrap_or(&plain);
        // Without a unit, the register's own name is what was meant.
        let name =
            |it: Located| if plain.contains('.') { it.to_string() } else { it.register.name.to_owned() };
        let names: Vec<(String, Located)> = self.registers().map(|it| (name(it), it)).collect();
        let nearest = |word| nearest(word, names.iter().map(|(name, _)| name.as_str()));
        let found = nearest(trimmed).or_else(|| nearest(&plain))?;
        names.iter().find(|(name, _)| name == found).map(|(_, located)| *located)
    }
}

impl fmt::Display for RegisterMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for RegisterMap {
    type Err = UnknownMap;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|map| map.name() == name).ok_or_else(|| UnknownMap(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{RegisterMap, Unit};
    use crate::nvdla::registers::{pdp, sdp};

    #[test]
    fn finds_a_register_by_its_manual_name() {
        let found = RegisterMap::Small.find("SDP.D_DP_BS_CFG").unwrap();
        assert_eq!((found.unit, found.register, found.address), (Unit::Sdp, sdp::D_DP_BS_CFG, 0x9058));
        assert_eq!(RegisterMap::Full.find("SDP.D_DP_BS_CFG").unwrap().address, 0xb058);
    }

    #[test]
    fn finds_a_register_by_the_vendors_spelling() {
        let map = RegisterMap::Small;
        assert_eq!(map.find("NVDLA_SDP.D_DP_BS_CFG_0"), map.find("SDP.D_DP_BS_CFG"));
        assert_eq!(map.find("PDP.D_POOLING_PADDING_CFG_0"), map.find("PDP.D_POOLING_PADDING_CFG"));
        assert_eq!(map.find("NVDLA_MCIF.CFG_RD_WEIGHT_0_0"), map.find("MCIF.CFG_RD_WEIGHT_0"));
        assert_eq!(RegisterMap::Large.find("SRAMIF.STATUS"), RegisterMap::Large.find("CVIF.STATUS"));
    }

    #[test]
    fn every_name_and_every_address_finds_its_register_in_every_spelling() {
        for map in RegisterMap::ALL {
            for located in map.registers() {
                assert_eq!(map.at(located.address), Some(located));
                assert_eq!(map.find(&located.to_string()), Ok(located));
                assert_eq!(map.find(&format!("NVDLA_{located}_0")), Ok(located));
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let refused = RegisterMap::Small.find("PDP.D_POOLING_PADDNG_CFG").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "no register `PDP.D_POOLING_PADDNG_CFG` in the nv_small map; nearest: PDP.D_POOLING_PADDING_CFG (0xb040)"
        );
        let refused = RegisterMap::Small.find("NVDLA_PDP.D_POOLING_PADDNG_CFG_0").unwrap_err();
        assert_eq!(refused.nearest.map(|it| it.register), Some(pdp::D_POOLING_PADDING_CFG));
    }

    #[test]
    fn nonsense_has_no_nearest() {
        for name in ["", ".", "zzz", &"SDP.".repeat(1000)] {
            assert_eq!(RegisterMap::Full.find(name).unwrap_err().nearest, None, "{name}");
        }
    }

    #[test]
    fn a_unit_the_map_lacks_is_not_found() {
        assert!(RegisterMap::Small.find("BDMA.CFG_OP").is_err());
        assert!(RegisterMap::Full.find("CFGROM.CFGROM_HW_VERSION").is_err());
        assert_eq!(RegisterMap::Small.base(Unit::Rbk), None);
    }

    #[test]
    fn empty_slots_holes_and_unaligned_addresses_hold_no_register() {
        assert_eq!(RegisterMap::Full.at(0x1000), None);
        assert_eq!(RegisterMap::Small.at(0xe000), None);
        assert_eq!(RegisterMap::Small.at(0x1010), None);
        assert_eq!(RegisterMap::Small.at(0x9059), None);
        assert_eq!(RegisterMap::Large.at(u32::MAX), None);
    }

    #[test]
    fn search_ignores_case_and_looks_at_the_whole_name() {
        let found: Vec<_> =
            RegisterMap::Small.search("pdp.d_pooling_pad").map(|it| it.register.name).collect();
        assert_eq!(found.len(), 8);
        assert_eq!(found[0], "D_POOLING_PADDING_CFG");
        assert_eq!(RegisterMap::Small.search("").count(), 446);
    }
}
