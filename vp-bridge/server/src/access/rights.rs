//! The rights of a session.

use std::fmt;

use serde::Deserialize;

macro_rules! rights {
    ($($right:ident = $name:literal, $what:literal;)+) => {
        /// Something that not every session may do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Right { $(#[doc = $what] $right,)+ }

        impl Right {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$right),+];

            /// As files of tokens have it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$right => $name),+ }
            }

            /// Returns what the right allows.
            pub fn what(self) -> &'static str {
                match self { $(Self::$right => $what),+ }
            }
        }
    };
}

rights! {
    Cpu = "cpu", "registers, and letting time move";
    Reset = "reset", "putting the platform back";
    OwnMemory = "own-memory", "being the memory behind a port";
    Device = "device", "being the device, or another master on its buses";
    ReadMemory = "read-memory", "reading memory that is the platform's or another session's";
    WriteMemory = "write-memory", "writing memory that is the platform's or another session's";
    Stream = "stream", "sending into the device's input stream";
    Statistics = "statistics", "counters, and who holds which port";
    ReadRegisters = "read-registers", "looking at registers, without what reads do besides";
    Debug = "debug", "stopping simulated time for all sessions of a platform";
    PrivatePlatforms = "private-platforms", "looking at a platform that is a session's own";
    Faults = "faults", "having things go wrong";
    Save = "save", "all of the platform's state and memory, to go on from elsewhere";
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.name(), self.what())
    }
}

/// The role of a token: a set of rights that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// All that a CPU and its programs do.
    Cpu,
    /// The memory behind ports.
    Memory,
    /// The device.
    Device,
    /// A session that only looks.
    Observer,
}

impl Role {
    fn rights(self) -> &'static [Right] {
        match self {
            Self::Cpu => &[
                Right::Cpu,
                Right::Reset,
                Right::ReadMemory,
                Right::WriteMemory,
                Right::Stream,
                Right::Statistics,
                Right::ReadRegisters,
            ],
            Self::Memory => &[Right::OwnMemory],
            Self::Device => &[Right::Device],
            Self::Observer => &[Right::Statistics, Right::ReadRegisters],
        }
    }
}

/// A set of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights(u16);

impl Rights {
    /// None.
    pub const NONE: Self = Self(0);
    /// Every one.
    pub const ALL: Self = Self(u16::MAX);

    /// Returns the rights of these roles, and these.
    pub fn of(roles: &[Role], rights: &[Right]) -> Self {
        let all = roles.iter().flat_map(|role| role.rights()).chain(rights);
        all.fold(Self::NONE, |Self(bits), right| Self(bits | 1 << *right as u16))
    }

    /// Returns true if the right is among these.
    pub fn contains(self, right: Right) -> bool {
        self.0 & (1 << right as u16) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_its_rights_and_no_others() {
        let observer = Rights::of(&[Role::Observer], &[]);
        let seen: Vec<_> = Right::ALL.iter().filter(|right| observer.contains(**right)).collect();
        assert_eq!(seen, [&Right::Statistics, &Right::ReadRegisters]);
        let both = Rights::of(&[Role::Memory], &[Right::Reset]);
        assert!(both.contains(Right::OwnMemory) && both.contains(Right::Reset) && !both.contains(Right::Cpu));
        assert!(Right::ALL.iter().all(|right| Rights::ALL.contains(*right)));
        assert!(!Right::ALL.iter().any(|right| Rights::NONE.contains(*right)));
    }

    #[test]
    fn a_right_reads_back_by_its_name() {
        for right in Right::ALL {
            let text = format!("right = '{}'", right.name());
            let read: std::collections::BTreeMap<String, Right> = toml::from_str(&text).unwrap();
            assert_eq!(read["right"], *right);
        }
    }
}
