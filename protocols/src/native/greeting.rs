//! The messages that open a session: identity, limits and capabilities of each side, and the list of ports.
//!
//! [`Hello`] and [`Refused`] keep their bytes in every future version, so that two versions can always refuse
//! each other properly.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use super::{ErrorCode, MAGIC, Role, SessionId, Time};

/// The four bytes `VPNP`. It has no value; parsing other bytes fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Magic;

impl Serialize for Magic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MAGIC.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Magic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match <[u8; 4]>::deserialize(deserializer)? {
            MAGIC => Ok(Self),
            _ => Err(de::Error::custom("not the magic bytes")),
        }
    }
}

/// Client → server, first frame of a session: identity, limits and requested platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// `VPNP`.
    pub magic: Magic,
    /// Lowest protocol version the client speaks.
    pub version_min: u16,
    /// Highest protocol version the client speaks.
    pub version_max: u16,
    /// Program and version, for people: `qemu-glue 0.1.0`. At most 64 bytes are useful.
    pub agent: String,
    /// Capabilities of the client beyond the basic protocol.
    pub capabilities: Capabilities,
    /// Longest payload the client takes, in bytes.
    pub max_payload: u32,
    /// Most unanswered requests in one direction that the client accepts, or wants to send.
    pub max_in_flight: u32,
    /// `None`: a new platform that no other session sees and that ends with the session. `Some(name)`: the
    /// shared platform of that name, created if it does not exist. For an [observer](Capabilities::OBSERVER)
    /// `Some(name)` is the existing platform that it looks at, and with `None` it asks the server which
    /// platforms there are.
    pub platform: Option<String>,
    /// Mode in which simulated time should move.
    pub time_mode: TimeMode,
}

/// Server → client, answer to [`Hello`]: the session is open on these terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The version both sides speak from here on.
    pub version: u16,
    /// Program and version of the server, for people.
    pub agent: String,
    /// Capabilities that both sides have: only these may be used.
    pub capabilities: Capabilities,
    /// Longest payload in either direction, in bytes: the smaller of both offers.
    pub max_payload: u32,
    /// Most unanswered requests, for each direction separately: the smaller of both offers.
    pub max_in_flight: u32,
    /// The time mode granted. A shared platform may already have another one than the requested one.
    pub time_mode: TimeMode,
    /// Picoseconds of one unit of every time on the wire. 1 in version 1.
    pub time_resolution: u64,
    /// Simulated time now.
    pub time: Time,
    /// Name of the platform: the shared name, or that of its description.
    pub platform: String,
    /// Names this session in status and busy reports. Unique while the server runs.
    pub session: SessionId,
    /// The platform's ports. A [`PortId`](super::PortId) is a position in this list. At most 32 ports with
    /// names of at most 64 bytes are guaranteed to fit the header.
    pub ports: Vec<Port>,
    /// The platform's device. On the wire if, and only if, [`Capabilities::DEVICE`] is among the capabilities.
    pub device: Option<Device>,
}

/// The device of a platform. Its texts are at most 512 bytes long together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The kind of device: `nvdla`, `fpga-ai-suite`.
    pub kind: String,
    /// The names by which drivers find it in a device tree, the most specific first.
    pub compatible: Vec<String>,
    /// The name of its register map, if its kind has several: of an NVDLA `nv_full`, `nv_small` or `nv_large`.
    pub register_map: Option<String>,
}

/// The fields that every [`Welcome`] has, in their order.
type Terms = (u16, String, Capabilities, u32, u32, TimeMode, u64, Time, String, SessionId, Vec<Port>);

impl Serialize for Welcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { version, agent, capabilities, max_payload, max_in_flight, time_mode, .. } = self;
        let Self { time_resolution, time, platform, session, ports, device, .. } = self;
        let terms = (
            version,
            agent,
            capabilities,
            max_payload,
            max_in_flight,
            time_mode,
            time_resolution,
            time,
            platform,
            session,
            ports,
        );
        match (device, capabilities.contains(Capabilities::DEVICE)) {
            (None, false) => terms.serialize(serializer),
            (Some(device), true) => (terms, device).serialize(serializer),
            _ => Err(ser::Error::custom("a device goes with its capability")),
        }
    }
}

impl<'de> Deserialize<'de> for Welcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, WelcomeVisitor)
    }
}

struct WelcomeVisitor;

impl<'de> de::Visitor<'de> for WelcomeVisitor {
    type Value = Welcome;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a welcome")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut fields: A) -> Result<Welcome, A::Error> {
        let missing = |at| de::Error::invalid_length(at, &self);
        let terms: Terms = fields.next_element()?.ok_or_else(|| missing(0))?;
        let (version, agent, capabilities, max_payload, max_in_flight, time_mode, ..) = terms;
        let (.., time_resolution, time, platform, session, ports) = terms;
        let device = match capabilities.contains(Capabilities::DEVICE) {
            true => Some(fields.next_element()?.ok_or_else(|| missing(1))?),
            false => None,
        };
        Ok(Welcome {
            version,
            agent,
            capabilities,
            max_payload,
            max_in_flight,
            time_mode,
            time_resolution,
            time,
            platform,
            session,
            ports,
            device,
        })
    }
}

/// Server → client, answer to [`Hello`] when there will be no session. The server closes the stream after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Reason, for programs.
    pub code: ErrorCode,
    /// The reason, and what would be right, for people.
    pub reason: String,
}

/// One port of a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Name in the platform's description: `csb0`, `csr0`, `irq0`, `dbb0`, `sram0`.
    pub name: String,
    /// Kind of what the port carries.
    pub kind: PortKind,
    /// The roles that the outside may take.
    pub roles: Roles,
    /// Lowest byte address. Requests carry addresses of the port's own space, so they start here. 0 for interrupt lines.
    pub base: u64,
    /// Size of the window in bytes. 0 for interrupt lines.
    pub size: u64,
    /// Width of the data path in bits: 32 for CSB, 1 for interrupt lines.
    pub width: u16,
}

/// Kind of what a port carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PortKind {
    /// Register access in 32-bit words (NVDLA's configuration space bus, or any register window).
    Csb,
    /// One level-sensitive interrupt line.
    Irq,
    /// Memory access in bursts.
    Axi,
}

/// A set of [`Role`]s: bit 0 initiator, bit 1 target, bit 2 source, bit 3 sink.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Roles(u8);

impl Roles {
    /// The set of these roles.
    pub fn of(roles: &[Role]) -> Self {
        Self(roles.iter().fold(0, |bits, role| bits | 1 << *role as u8))
    }

    /// Returns true if the role is in the set.
    pub fn contains(self, role: Role) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    /// From the byte on the wire. Bits without a meaning are kept and ignored.
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The byte on the wire.
    pub fn bits(self) -> u8 {
        self.0
    }
}

/// Mode in which simulated time moves in a session. Runs are reproducible only in lockstep: in the other modes the
/// simulated time at which a request takes effect depends on when it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TimeMode {
    /// The platform runs whenever it has work.
    Free,
    /// Time moves only while the server works on a client's request that takes time: the client controls time.
    Lockstep,
    /// Time follows the wall clock.
    Paced {
        /// Simulated picoseconds in one nanosecond of wall clock; 1000 is real time. Not 0.
        picoseconds_per_nanosecond: u64,
    },
}

impl fmt::Display for TimeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeMode::Lockstep => f.write_str("lockstep"),
            TimeMode::Free => f.write_str("free mode, in which times differ from run to run"),
            TimeMode::Paced { picoseconds_per_nanosecond } => write!(
                f,
                "paced mode at {picoseconds_per_nanosecond} ps a nanosecond, in which times differ from run to run"
            ),
        }
    }
}

/// Capabilities of a side beyond the basic protocol. Bits without a meaning are kept and ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Capabilities(u64);

bitflags::bitflags! {
    impl Capabilities: u64 {
        /// Takes memory writes with byte strobes.
        const STROBES = 1 << 0;
        /// Wants [`Warning`](super::Notice::Warning)s.
        const WARNINGS = 1 << 1;
        /// Respects the `at` of a request. Without it `at` is ignored.
        const SCHEDULED = 1 << 2;
        /// May share memory of its own, in files that are sent beside the stream.
        const SHARED_MEMORY = 1 << 3;
        /// May access registers through a ring in shared memory.
        const REGISTER_RING = 1 << 4;
        /// Takes [`Step`](super::Request::Step).
        const STEPPING = 1 << 5;
        /// Carries out the platform's memory writes in the order of the stream: everything after a write in the
        /// stream, whatever its direction, sees the write done. The caller has to guarantee this, so it is not in
        /// [`ALL`](Self::ALL).
        const MEMORY_IN_ORDER = 1 << 6;
        /// The [`Welcome`] says what device there is.
        const DEVICE = 1 << 7;
        /// Takes [`Clock`](super::Request::Clock), [`Driven`](super::Driven) and [`Promised`](super::Promised).
        const PARTNERS = 1 << 8;
        /// Authenticates by [`Authenticate`](super::Request::Authenticate), before anything else. A server that
        /// grants this capability requires it. A client must have a token, so it is not in [`ALL`](Self::ALL).
        const AUTHENTICATION = 1 << 9;
        /// Answers the server's Pings at any time, also between two calls. The caller has to guarantee this, so it
        /// is not in [`ALL`](Self::ALL).
        const HEARTBEAT = 1 << 10;
        /// Takes [`Inspect`](super::Request::Inspect), [`RegisterPeek`](super::Request::RegisterPeek) and
        /// [`RegisterPoke`](super::Request::RegisterPoke).
        const INSPECTION = 1 << 11;
        /// The session only looks at a platform that others use. This is the kind of session, not an ability of a
        /// client, so it is not in [`ALL`](Self::ALL).
        const OBSERVER = 1 << 12;
        /// Takes [`Inject`](super::Request::Inject).
        const FAULTS = 1 << 13;
        /// Takes [`Debug`](super::Request::Debug).
        const DEBUGGING = 1 << 14;
        /// Takes [`Save`](super::Request::Save).
        const SAVING = 1 << 15;
        /// Takes [`MarkedWarning`](super::Notice::MarkedWarning)s.
        const WARNING_MARKS = 1 << 16;
        /// Takes [`AwaitRest`](super::Request::AwaitRest), [`SaveDevice`](super::Request::SaveDevice) and
        /// [`RestoreDevice`](super::Request::RestoreDevice).
        const DEVICE_STATE = 1 << 17;
    }
}

impl Capabilities {
    /// Nothing beyond the bare protocol.
    pub const NONE: Self = Self(0);
    /// All that this crate knows and any client and stream can do.
    pub const ALL: Self = Self(0b11_1110_1001_1010_0111);
    /// Capabilities that need a stream between processes of one host: one that can carry files.
    pub const LOCAL: Self = Self(0b11000);
}
