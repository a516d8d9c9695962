//! The page with every key of a platform's file, made from the types that read it: names, types and sentences from their source, defaults from the
//! values themselves, and checked against what their readers take.

use std::collections::BTreeMap;
use std::path::Path;

use syn::parse::ParseBuffer;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Field, Fields, Item, Lit, Meta, Token, Type};
use toml::{Table, Value};
use vp_models::platform::Description;

/// A section of the file.
struct Section {
    title: &'static str,
    /// Text that a file has before an unknown key in it, and behind.
    sample: [&'static str; 2],
    /// Structures whose fields are its keys.
    structures: &'static [&'static str],
    /// Fields of these that are no keys of it.
    without: &'static [&'static str],
    /// Keys that have a section of their own, or no field.
    elsewhere: &'static [&'static str],
    /// Columns of defaults: a heading, a platform's text, and the way to the section there.
    defaults: &'static [(&'static str, &'static str, &'static [&'static str])],
}

const SMALL: &str = "name = 'x'\n[nvdla]\nbase = 'nv_small'\n";
const LARGE: &str = "name = 'x'\n[nvdla]\nbase = 'nv_large'\n";
const FULL: &str = "name = 'x'\n[nvdla]\nbase = 'nv_full'\n";
const SUITE: &str = "name = 'x'\n[fpga_ai_suite]\n";
const MODELS: &str = "name = 'x'\n[nvdla]\nbase = 'nv_small'\n[dbb0.cache]\n[sram0.sram]\n[sram0.cache]\n[[dbb0.traffic]]\n\
                      name = 'x'\nrate = 1\n[dbb0.dram]\nstandard = 'DDR4-2400R'\n";

const LITEDRAM: &str = "name = 'x'\n[nvdla]\nbase = 'nv_small'\n[dbb0.litedram]\n";

const SECTIONS: [Section; 11] = [
    Section {
        title: "At the top",
        sample: ["", SMALL],
        structures: &["Description"],
        without: &["device", "dbb0", "sram0"],
        elsewhere: &["nvdla", "fpga_ai_suite", "outside_device", "dbb0", "sram0"],
        defaults: &[("default", SMALL, &[])],
    },
    Section {
        title: "`[nvdla]`",
        sample: [SMALL, ""],
        structures: &["NvdlaDescription", "parameters"],
        without: &["config"],
        elsewhere: &["base"],
        defaults: &[
            ("`nv_small`", SMALL, &["nvdla"]),
            ("`nv_large`", LARGE, &["nvdla"]),
            ("`nv_full`", FULL, &["nvdla"]),
        ],
    },
    Section {
        title: "`[fpga_ai_suite]`",
        sample: [SUITE, ""],
        structures: &["Architecture"],
        without: &[],
        elsewhere: &[],
        defaults: &[("default", SUITE, &["fpga_ai_suite"])],
    },
    Section {
        title: "`[outside_device]`",
        sample: ["name = 'x'\n[outside_device]\n", ""],
        structures: &["Written"],
        without: &[],
        elsewhere: &[],
        defaults: &[],
    },
    Section {
        title: "`[outside_device.dbb0]` and `[outside_device.sram0]`",
        sample: ["name = 'x'\n[outside_device.dbb0]\n", ""],
        structures: &["OutsideInterface"],
        without: &[],
        elsewhere: &[],
        defaults: &[],
    },
    Section {
        title: "`[dbb0]` and `[sram0]`",
        sample: ["name = 'x'\n[nvdla]\nbase = 'nv_small'\n[dbb0]\n", ""],
        structures: &["MemoryDescription", "MemoryModel"],
        without: &["model"],
        elsewhere: &[],
        defaults: &[("`dbb0`", SMALL, &["dbb0"]), ("`sram0`", SMALL, &["sram0"])],
    },
    Section {
        title: "`[dbb0.cache]`",
        sample: ["name = 'x'\n[dbb0.cache]\n", ""],
        structures: &["CacheConfig"],
        without: &[],
        elsewhere: &[],
        defaults: &[("default", MODELS, &["dbb0", "cache"])],
    },
    Section {
        title: "`[dbb0.sram]`",
        sample: ["name = 'x'\n[dbb0.sram]\n", ""],
        structures: &["SramConfig"],
        without: &[],
        elsewhere: &[],
        defaults: &[("default", MODELS, &["sram0", "sram"])],
    },
    Section {
        title: "`[dbb0.dram]`",
        sample: ["name = 'x'\n[dbb0.dram]\n", ""],
        structures: &["DramConfig"],
        without: &[],
        elsewhere: &[],
        defaults: &[("default", MODELS, &["dbb0", "dram"])],
    },
    Section {
        title: "`[dbb0.litedram]`",
        sample: ["name = 'x'\n[dbb0.litedram]\n", ""],
        structures: &["LiteDramConfig"],
        without: &[],
        elsewhere: &[],
        defaults: &[("default", LITEDRAM, &["dbb0", "litedram"])],
    },
    Section {
        title: "`[[dbb0.traffic]]`",
        sample: ["name = 'x'\n[[dbb0.traffic]]\n", ""],
        structures: &["TrafficConfig"],
        without: &[],
        elsewhere: &[],
        defaults: &[("default", MODELS, &["dbb0", "traffic"])],
    },
];

/// Paths of the files in which the types are.
const SOURCES: [&str; 13] = [
    "platform/description.rs",
    "nvdla/description.rs",
    "nvdla/config.rs",
    "nvdla/config/capability.rs",
    "nvdla/registers/map.rs",
    "nvdla/rtl_tree.rs",
    "fpga_ai_suite/architecture.rs",
    "outside_device/description.rs",
    "memory/model.rs",
    "memory/cache.rs",
    "memory/sram.rs",
    "memory/litedram/config.rs",
    "memory/traffic.rs",
];
const DRAM: &str = "memory/dram/config.rs";

/// A key: its name, its type as a reader writes it, and what it is.
struct Key {
    name: String,
    kind: String,
    text: String,
}

/// The types of the sources.
#[derive(Default)]
struct Types {
    structures: BTreeMap<String, Vec<Field>>,
    /// Words that enumerations are written with.
    words: BTreeMap<String, Vec<String>>,
}

impl Types {
    fn read() -> Types {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vp-models/src");
        let mut types = Types::default();
        for file in SOURCES.iter().chain([&DRAM]) {
            let text =
                std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            let source = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
            source.items.into_iter().for_each(|item| types.add(item));
        }
        types
    }

    fn add(&mut self, item: Item) {
        match item {
            Item::Struct(item) => {
                if let Fields::Named(fields) = item.fields {
                    self.structures.insert(item.ident.to_string(), fields.named.into_iter().collect());
                }
            }
            Item::Enum(item) => {
                let rule = serde(&item.attrs, "rename_all").unwrap_or_default();
                let is_skipped = |attribute: &Attribute| {
                    let is = |path: syn::Path| path.is_ident("skip");
                    attribute.path().is_ident("serde") && attribute.parse_args().is_ok_and(is)
                };
                let written = item.variants.iter().filter(|variant| !variant.attrs.iter().any(is_skipped));
                let words = written.map(|variant| {
                    serde(&variant.attrs, "rename")
                        .unwrap_or_else(|| renamed(&variant.ident.to_string(), &rule))
                });
                self.words.insert(item.ident.to_string(), words.collect());
            }
            Item::Macro(item) if item.mac.path.is_ident("parameters") => {
                let fields = |input: ParseStream<'_>| {
                    Punctuated::<Field, Token![,]>::parse_terminated_with(input, Field::parse_named)
                };
                let fields = fields.parse2(item.mac.tokens).expect("fields of the configuration");
                self.structures.insert("parameters".to_owned(), fields.into_iter().collect());
            }
            _ => {}
        }
    }

    fn keys(&self, section: &Section) -> Vec<Key> {
        let fields = section.structures.iter().flat_map(|name| &self.structures[*name]);
        let keys = fields.map(|field| Key {
            name: field.ident.as_ref().map(ToString::to_string).unwrap_or_default(),
            kind: self.kind(&field.ty),
            text: documentation(&field.attrs),
        });
        keys.filter(|key| !section.without.contains(&key.name.as_str())).collect()
    }

    /// A type as who writes a file knows it.
    fn kind(&self, of: &Type) -> String {
        let Type::Path(path) = of else { return "value".to_owned() };
        let last = path.path.segments.last().expect("a type has a name");
        let inner = match &last.arguments {
            syn::PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
                Some(syn::GenericArgument::Type(inner)) => Some(self.kind(inner)),
                _ => None,
            },
            _ => None,
        };
        match (last.ident.to_string().as_str(), inner) {
            ("Option" | "Box", Some(inner)) => inner,
            ("Vec", Some(inner)) if inner == "section" => "list of sections".to_owned(),
            ("Vec", Some(inner)) => format!("list of {inner}"),
            ("u8" | "u32" | "u64" | "usize" | "NonZeroUsize", _) => "integer".to_owned(),
            ("f64", _) => "number".to_owned(),
            ("bool", _) => "`true`, `false`".to_owned(),
            ("String" | "Hash" | "Standard", _) => "text".to_owned(),
            ("Time", _) => "time, `\"2 ns\"`".to_owned(),
            ("Latency", _) => "cycles, time, or distribution".to_owned(),
            (name, _) => match self.words.get(name) {
                Some(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
                None => "section".to_owned(),
            },
        }
    }
}

/// Value of an attribute `#[serde(NAME = "…")]`.
fn serde(attributes: &[Attribute], name: &str) -> Option<String> {
    let mut said = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        let _ = attribute.parse_nested_meta(|meta| {
            let is_it = meta.path.is_ident(name);
            let value = meta.value().and_then(ParseBuffer::parse::<Expr>);
            if let (true, Ok(Expr::Lit(value))) = (is_it, value)
                && let Lit::Str(text) = value.lit
            {
                said = Some(text.value());
            }
            Ok(())
        });
    }
    said
}

/// The first sentences of the documentation: its first paragraph.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(it) if it.path.is_ident("doc") => match &it.value {
            Expr::Lit(text) => match &text.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A variant's name by serde's rule.
fn renamed(name: &str, rule: &str) -> String {
    let separator = match rule {
        "kebab-case" => "-",
        "snake_case" => "_",
        _ => return name.to_lowercase(),
    };
    let mut word = String::new();
    for (at, letter) in name.chars().enumerate() {
        if at > 0 && letter.is_uppercase() {
            word += separator;
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// A default as a file would say it.
fn default(text: &str, way: &[&str], key: &str) -> String {
    let description = Description::parse(text).expect("a platform");
    let table = Table::try_from(description).expect("a table");
    let mut value = Some(Value::Table(table));
    for part in way.iter().chain([&key]) {
        value = match value {
            Some(Value::Table(mut table)) => table.remove(*part),
            Some(Value::Array(list)) => list.first().and_then(|first| first.get(*part)).cloned(),
            _ => None,
        };
    }
    match value {
        Some(Value::Integer(number)) if matches!(key, "base" | "size") => format!("`{number:#x}`"),
        Some(Value::Table(_) | Value::Array(_)) if matches!(key, "cache" | "sram" | "dram" | "traffic") => {
            String::new()
        }
        Some(value) if !matches!(key, "name" | "rate" | "standard") => format!("`{value}`"),
        _ => String::new(),
    }
}

/// The keys that the reader of a section takes, as it tells them who writes another one.
fn accepted(section: &Section) -> Vec<String> {
    let [before, after] = section.sample;
    let told = Description::parse(&format!("{before}no-such-key = 1\n{after}")).expect_err("an unknown key");
    let told = told.to_string();
    let (_, listed) = told.split_once(", expected ").unwrap_or_else(|| panic!("{}: {told}", section.title));
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The page.
///
/// # Panics
/// When a section's reader takes other keys than the page has.
pub fn page() -> String {
    let types = Types::read();
    let mut page = String::from(
        "# Platform files\n\n\
         Every key of a platform's file, with its type, its default and its unit. [commands.md](commands.md#platforms) shows such files, and\n\
         [memory.md](memory.md) says what the models of memories do. `vp platform print NAME` writes a platform with all its values, and\n\
         `--set NAME=VALUE` changes one, such as `--set dbb0.cache.sets=256`.\n\n\
         A rate is bytes a second, or text with a unit, `\"10 GB/s\"`. Bytes of a size may be text too, `\"256 KiB\"` (KiB, MiB, GiB, TiB), but for the\n\
         hardware's own parameters in `[nvdla]`. Where cycles of a latency stand a time may stand in their place, `\"400 ns\"`.\n\
         A distribution is `{ distribution = \"uniform\", min, max }`, `{ distribution = \"normal\", mean, deviation, min }` or\n\
         `{ distribution = \"exponential\", min, mean }`, in cycles.\n\n\
         Made from the types in `vp-models` by `cargo run -p vp-tests --bin make-platform-file docs/platform-file.md`.\n",
    );
    for section in &SECTIONS {
        let keys = types.keys(section);
        let mut known: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        known.extend(section.elsewhere);
        // Those that are taken out before the others are read.
        let before = ["rtl", "capability_rom"];
        let accepted = accepted(section);
        for key in &accepted {
            assert!(known.contains(&key.as_str()), "{}: nothing says what `{key}` is", section.title);
        }
        for key in known {
            let is_taken = before.contains(&key) || accepted.iter().any(|accepted| accepted == key);
            assert!(is_taken, "{}: `{key}` is not taken", section.title);
        }
        page += &format!("\n## {}\n\n", section.title);
        if section.title == "`[nvdla]`" {
            page += "`base` names the hardware configuration that the other keys differ from; without it each must be said. The columns are those of some bases.\n\n";
        }
        let headings: String = section.defaults.iter().map(|(heading, ..)| format!("{heading} | ")).collect();
        page += &format!(
            "| key | type | {headings}what it is |\n| --- | --- | {}--- |\n",
            "--- | ".repeat(section.defaults.len())
        );
        for Key { name, kind, text } in &keys {
            let defaults =
                section.defaults.iter().map(|(_, text, way)| format!("{} | ", default(text, way, name)));
            page += &format!(
                "| `{name}` | {kind} | {}{} |\n",
                defaults.collect::<String>(),
                text.replace('|', "\\|")
            );
        }
    }
    page
}
