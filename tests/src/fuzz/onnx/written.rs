//! ONNX models written as protobuf, by the numbers of the published schema.

/// Bytes of a message.
#[derive(Debug, Clone, Default)]
pub(in crate::fuzz) struct Bytes(Vec<u8>);

impl Bytes {
    /// Bytes as they are.
    pub(in crate::fuzz) fn of(bytes: &[u8]) -> Bytes {
        Bytes(bytes.to_vec())
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn integer(&mut self, field: u64, integer: i64) {
        self.varint(field << 3);
        self.varint(integer as u64);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.extend(bytes);
    }

    fn message(&mut self, field: u64, fill: impl FnOnce(&mut Bytes)) {
        let mut message = Bytes::default();
        fill(&mut message);
        self.bytes(field, &message.0);
    }
}

/// A model of one input and one output.
#[derive(Debug, Clone)]
pub(in crate::fuzz) struct Model {
    pub(in crate::fuzz) version: i64,
    pub(in crate::fuzz) input: (String, Vec<i64>),
    pub(in crate::fuzz) output: String,
    pub(in crate::fuzz) nodes: Vec<Node>,
    pub(in crate::fuzz) constants: Vec<Constant>,
}

/// A node.
#[derive(Debug, Clone)]
pub(in crate::fuzz) struct Node {
    pub(in crate::fuzz) operator: &'static str,
    pub(in crate::fuzz) domain: &'static str,
    pub(in crate::fuzz) inputs: Vec<String>,
    pub(in crate::fuzz) outputs: Vec<String>,
    pub(in crate::fuzz) attributes: Vec<(&'static str, Attribute)>,
}

/// An attribute's value.
#[derive(Debug, Clone)]
pub(in crate::fuzz) enum Attribute {
    Integer(i64),
    Integers(Vec<i64>),
    Float(f32),
    Text(&'static str),
}

/// An initializer, by the number of its type.
#[derive(Debug, Clone)]
pub(in crate::fuzz) struct Constant {
    pub(in crate::fuzz) name: String,
    pub(in crate::fuzz) data_type: i64,
    pub(in crate::fuzz) dims: Vec<i64>,
    pub(in crate::fuzz) raw: Bytes,
}

impl Model {
    /// The file.
    pub(in crate::fuzz) fn bytes(&self) -> Vec<u8> {
        let mut file = Bytes::default();
        file.integer(1, 8);
        file.message(7, |graph| {
            self.nodes.iter().for_each(|node| graph.message(1, |message| node.write(message)));
            self.constants.iter().for_each(|constant| graph.message(5, |message| constant.write(message)));
            graph.message(11, |value| {
                value.bytes(1, self.input.0.as_bytes());
                value.message(2, |kind| {
                    kind.message(1, |tensor| {
                        tensor.integer(1, 1);
                        let sizes = self.input.1.iter();
                        tensor.message(2, |shape| {
                            sizes.for_each(|&size| shape.message(1, |dim| dim.integer(1, size)))
                        });
                    })
                });
            });
            graph.message(12, |value| value.bytes(1, self.output.as_bytes()));
        });
        file.message(8, |set| set.integer(2, self.version));
        file.message(8, |set| {
            set.bytes(1, b"com.microsoft");
            set.integer(2, 1);
        });
        file.0
    }
}

impl Node {
    fn write(&self, node: &mut Bytes) {
        self.inputs.iter().for_each(|input| node.bytes(1, input.as_bytes()));
        self.outputs.iter().for_each(|output| node.bytes(2, output.as_bytes()));
        node.bytes(4, self.operator.as_bytes());
        for (name, value) in &self.attributes {
            node.message(5, |attribute| {
                attribute.bytes(1, name.as_bytes());
                let kind = match value {
                    Attribute::Integer(integer) => {
                        attribute.integer(3, *integer);
                        2
                    }
                    Attribute::Integers(integers) => {
                        integers.iter().for_each(|&integer| attribute.integer(8, integer));
                        7
                    }
                    Attribute::Float(float) => {
                        attribute.varint(2 << 3 | 5);
                        attribute.extend(&float.to_le_bytes());
                        1
                    }
                    Attribute::Text(text) => {
                        attribute.bytes(4, text.as_bytes());
                        3
                    }
                };
                attribute.integer(20, kind);
            });
        }
        node.bytes(7, self.domain.as_bytes());
    }
}

impl Constant {
    fn write(&self, tensor: &mut Bytes) {
        self.dims.iter().for_each(|&size| tensor.integer(1, size));
        tensor.integer(2, self.data_type);
        tensor.bytes(8, self.name.as_bytes());
        tensor.bytes(9, &self.raw.0);
    }
}
