//! The register map for other programs: a C header, JSON, SystemRDL 2.0.

use std::io::{self, Write};

use clap::ValueEnum;
use serde_json::{Value, json};
use vp_models::platform::{NamedKind, NamedRegister};
use vp_models::registers::{Access, Encoding, Family, FieldRef, Grouping};

/// Format in which the map is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text to read
    Text,
    /// C macros: addresses, reset values, and shift, mask and values of each field
    CHeader,
    /// The whole table
    Json,
    /// SystemRDL 2.0, for generators of documents, headers and register files
    Systemrdl,
}

/// Registers of a device, and what their names begin with in a C header.
pub(super) struct Map<'a> {
    pub(super) name: &'a str,
    pub(super) prefix: &'static str,
    pub(super) family: Family,
    pub(super) registers: &'a [NamedRegister],
}

impl Map<'_> {
    /// A name of its own in the unit: words of the capability ROM that have the same one are told apart by their offsets.
    fn name(&self, register: &NamedRegister) -> String {
        let is_same = |it: &&NamedRegister| (it.unit, it.name) == (register.unit, register.name);
        match self.registers.iter().filter(is_same).count() {
            1 => register.name.to_owned(),
            _ => format!("{}_{:03X}", register.name, register.address & 0xfff),
        }
    }

    pub(super) fn write_c_header(&self, out: &mut impl Write) -> io::Result<()> {
        let guard = format!("VP_{}_REGISTERS_H", macro_name(self.name));
        writeln!(
            out,
            "/* The registers of the {} map: byte addresses in the device's window, as `vp regs --format c-header` writes them. */",
            self.name
        )?;
        writeln!(out, "#ifndef {guard}\n#define {guard}")?;
        for register in self.registers {
            let name = format!("{}{}_{}", self.prefix, register.unit, self.name(register));
            writeln!(out, "\n#define {name} {:#06x}u", register.address)?;
            writeln!(out, "#define {name}_RESET {:#010x}u", register.reset(self.family))?;
            for field in register.fields() {
                let (bits, name) = (field.bits(self.family), format!("{name}_{}", field.name));
                writeln!(
                    out,
                    "#define {name}_SHIFT {}\n#define {name}_MASK {:#010x}u",
                    bits.lsb,
                    bits.mask()
                )?;
                for value in field.values {
                    writeln!(out, "#define {name}_{} {}u", macro_name(value.name), value.value)?;
                }
            }
        }
        writeln!(out, "\n#endif")
    }

    pub(super) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let registers: Vec<Value> = self.registers.iter().map(|register| self.register(register)).collect();
        let map = json!({ "map": self.name, "registers": registers });
        serde_json::to_writer_pretty(&mut *out, &map)?;
        writeln!(out)
    }

    fn register(&self, register: &NamedRegister) -> Value {
        let (access, doc) = about(register);
        let fields = register.fields().iter().map(|field| self.field(field));
        json!({
            "unit": register.unit,
            "name": self.name(register),
            "address": register.address,
            "access": super::access(access),
            "groups": if register.has_groups() { 2 } else { 1 },
            "reset": register.reset(self.family),
            "doc": doc,
            "fields": fields.collect::<Vec<Value>>(),
        })
    }

    fn field(&self, field: FieldRef) -> Value {
        let bits = field.bits(self.family);
        let encoding = match field.encoding {
            Encoding::Plain => "plain",
            Encoding::MinusOne => "minus one",
            Encoding::Signed => "signed",
            Encoding::Bytes => "bytes, in place",
        };
        let values = field.values.iter().map(|value| (value.name.to_owned(), json!(value.value)));
        json!({
            "name": field.name,
            "msb": bits.msb,
            "lsb": bits.lsb,
            "access": super::access(field.access),
            "reset": field.reset(self.family),
            "encoding": encoding,
            "values": values.collect::<serde_json::Map<String, Value>>(),
            "doc": field.doc.trim(),
        })
    }

    /// One register file for each unit. What is there once in each of two groups is one register here, as on the bus.
    pub(super) fn write_systemrdl(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "addrmap {} {{", macro_name(self.name).to_lowercase())?;
        writeln!(out, "  default regwidth = 32;")?;
        for unit in self.registers.chunk_by(|one, other| one.unit == other.unit) {
            let base = unit.first().map_or(0, |first| first.address & !0xfff);
            writeln!(out, "  regfile {{")?;
            for register in unit {
                self.write_rdl_register(out, register, base)?;
            }
            let name = unit.first().map_or("", |first| first.unit);
            writeln!(out, "  }} {} @ {base:#x};", macro_name(name))?;
        }
        writeln!(out, "}};")
    }

    fn write_rdl_register(
        &self,
        out: &mut impl Write,
        register: &NamedRegister,
        base: u32,
    ) -> io::Result<()> {
        let (access, doc) = about(register);
        writeln!(out, "    reg {{\n      desc = {};", quoted(doc))?;
        if register.fields().is_empty() {
            let (reset, rights) = (register.reset(self.family), rdl_rights(access));
            writeln!(out, "      field {{ {rights} reset = {reset:#x}; }} VALUE[31:0];")?;
        }
        for field in register.fields() {
            let (bits, reset) = (field.bits(self.family), field.reset(self.family));
            let names = match field.values {
                [] => String::new(),
                values => {
                    let of = |value: &vp_models::registers::Value| {
                        format!("{} = {};", macro_name(value.name), value.value)
                    };
                    let values: Vec<String> = values.iter().map(of).collect();
                    let name = format!("{}_{}", register.name, field.name).to_lowercase();
                    writeln!(out, "      enum {name} {{ {} }};", values.join(" "))?;
                    format!(" encode = {name};")
                }
            };
            writeln!(
                out,
                "      field {{ desc = {}; {}{names} reset = {reset:#x}; }} {}[{}:{}];",
                quoted(field.doc),
                rdl_rights(field.access),
                field.name,
                bits.msb,
                bits.lsb
            )?;
        }
        writeln!(out, "    }} {} @ {:#x};", self.name(register), register.address - base)
    }
}

/// Returns what may be done with a register, and what it is for.
pub(super) fn about(register: &NamedRegister) -> (Access, &str) {
    match register.kind {
        NamedKind::Register(register) => (register.access, register.doc.trim()),
        NamedKind::Word { doc, .. } => (Access::ReadOnly, doc),
    }
}

/// Says whether a register is there once for each group, in words.
pub(super) fn grouping(register: &NamedRegister) -> &'static str {
    match register.kind {
        NamedKind::Register(register) if register.grouping == Grouping::Duplicated => "  two groups",
        _ => "",
    }
}

fn rdl_rights(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "sw = r; hw = w;",
        Access::ReadWrite => "sw = rw; hw = r;",
        Access::WriteOnly => "sw = w; hw = r;",
        Access::WriteOneToClear => "sw = rw; hw = w; onwrite = woclr;",
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.trim().replace('\\', "\\\\").replace('"', "\\\""))
}

fn macro_name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}
