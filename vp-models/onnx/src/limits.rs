//! Limits of a model's file, found without decoding it: a few bytes of a file may be hundreds in memory.

use crate::ReadError;

/// Most bytes of a file, which is protobuf's own limit.
pub const LARGEST_FILE: u64 = (1 << 31) - 1;
/// Most nodes.
pub const MOST_NODES: usize = 1_000_000;
/// Most messages in a file: nodes, attributes, tensors and the like.
const MOST_MESSAGES: usize = 1 << 22;
/// Most fields that are read.
const MOST_FIELDS: usize = 1 << 25;
/// Most bytes of lists of numbers, each of which may take eight bytes in memory.
const MOST_NUMBERS: usize = 1 << 28;
/// Deepest nesting of messages: a graph within an attribute within a node within a graph is three.
const DEEPEST: usize = 64;

/// Messages that are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    Sparse,
    /// A message, text or bytes that are not looked into.
    Leaf,
    /// Packed numbers.
    Numbers,
}

impl Kind {
    /// Returns what a field of this message has, if it has bytes that are looked into.
    fn field(self, number: u64) -> Kind {
        match (self, number) {
            (Kind::Model, 7) | (Kind::Attribute, 6 | 11) => Kind::Graph,
            (Kind::Graph, 1) => Kind::Node,
            (Kind::Graph, 5) | (Kind::Attribute, 5 | 10) | (Kind::Sparse, 1) => Kind::Tensor,
            (Kind::Graph, 11 | 12) => Kind::Value,
            (Kind::Graph, 15) => Kind::Sparse,
            (Kind::Node, 5) => Kind::Attribute,
            (Kind::Value, 2) => Kind::Type,
            (Kind::Type, 1) => Kind::TensorType,
            (Kind::TensorType, 2) => Kind::Shape,
            (Kind::Attribute, 7 | 8) | (Kind::Tensor, 1 | 4 | 5 | 7 | 10 | 11) => Kind::Numbers,
            _ => Kind::Leaf,
        }
    }
}

/// Numbers of things in a file.
#[derive(Debug, Default)]
struct Count {
    nodes: usize,
    messages: usize,
    fields: usize,
    numbers: usize,
}

/// Checks that a file decodes within bounded memory.
pub(crate) fn check(bytes: &[u8]) -> Result<(), ReadError> {
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(ReadError::Limit { what: "bytes", most: LARGEST_FILE as usize });
    }
    scan(bytes, 0, Kind::Model, 0, &mut Count::default())
}

/// Scans a message that begins at this place of the file.
fn scan(bytes: &[u8], start: usize, kind: Kind, depth: usize, count: &mut Count) -> Result<(), ReadError> {
    count.messages += 1;
    if kind == Kind::Node {
        count.nodes += 1;
    }
    for (found, what, most) in [
        (count.nodes, "nodes", MOST_NODES),
        (count.messages, "messages", MOST_MESSAGES),
        (depth, "levels of messages in messages", DEEPEST),
    ] {
        if found > most {
            return Err(ReadError::Limit { what, most });
        }
    }
    let mut at = 0;
    while at < bytes.len() {
        let place = start + at;
        let broken = || ReadError::NotProtobuf { place };
        let key = varint(bytes, &mut at).ok_or_else(broken)?;
        count.fields += 1;
        if count.fields > MOST_FIELDS {
            return Err(ReadError::Limit { what: "fields", most: MOST_FIELDS });
        }
        let length = match key & 7 {
            0 => {
                varint(bytes, &mut at).ok_or_else(broken)?;
                continue;
            }
            1 => 8,
            2 => varint(bytes, &mut at).ok_or_else(broken)?,
            5 => 4,
            _ => return Err(broken()),
        };
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
        let field = end.and_then(|end| bytes.get(at..end)).ok_or_else(broken)?;
        if key & 7 == 2 {
            match kind.field(key >> 3) {
                Kind::Leaf => (),
                Kind::Numbers => {
                    count.numbers += field.len();
                    if count.numbers > MOST_NUMBERS {
                        return Err(ReadError::Limit {
                            what: "bytes of lists of numbers",
                            most: MOST_NUMBERS,
                        });
                    }
                }
                inner => scan(field, start + at, inner, depth + 1, count)?,
            }
        }
        at += field.len();
    }
    Ok(())
}

/// Reads a number of protobuf, of up to ten bytes.
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..70).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift < 64 {
            number |= u64::from(byte & 0x7f) << shift;
        }
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
