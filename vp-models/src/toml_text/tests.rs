//! Tests of the places at which errors are said to be.

use super::*;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    #[serde(rename = "memory")]
    _memory: Option<Memory>,
    #[serde(default)]
    layer: Vec<Layer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    #[serde(rename = "latency")]
    _latency: Option<u32>,
    #[serde(rename = "cache")]
    _cache: Option<toml::Table>,
    #[serde(rename = "checked")]
    _checked: Option<Checked>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Table")]
struct Checked;

impl TryFrom<toml::Table> for Checked {
    type Error = String;

    fn try_from(_: toml::Table) -> Result<Checked, String> {
        Err("sets = 3: a power of two".to_owned())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    name: String,
    kind: Kind,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Kind {
    Wide { size: [u32; 2] },
    Flat {},
}

const KINDS: Kinds = Kinds { list: "layer", tag: "kind", common: &["name"], inner: None };

fn read(text: &str) -> Result<Sheet, String> {
    let read = TomlText::parse(text).and_then(|text| text.read_kinds(&KINDS));
    read.map_err(|error| error.in_file(Path::new("a.toml")).to_string())
}

#[test]
fn elements_of_several_kinds_are_read() {
    let text = "[[layer]]\nkind = 'wide'\nname = 'a'\nsize = [1, 2]\n[[layer]]\nname = 'b'\nkind = 'flat'\n";
    let sheet = read(text).unwrap();
    assert_eq!(sheet.layer[0].kind, Kind::Wide { size: [1, 2] });
    assert_eq!((sheet.layer[1].name.as_str(), &sheet.layer[1].kind), ("b", &Kind::Flat {}));
    // In one line, too.
    assert_eq!(read("layer = [{ name = 'a', kind = 'flat' }]").unwrap().layer.len(), 1);
}

#[test]
fn what_is_wrong_is_told_with_line_holder_and_key() {
    let third = |line: &str| {
        let flat = "[[layer]]\nname = 'x'\nkind = 'flat'\n";
        read(&format!("{flat}{flat}[[layer]]\nname = 'c'\n{line}\n")).unwrap_err()
    };
    assert_eq!(
        third("kind = 'wide'\nsize = [1, 'x']"),
        "a.toml:10: layer 3 `c`: size: found \"x\", expected a whole number from 0 to 4294967295"
    );
    assert_eq!(
        third("kind = 'wide'\nsize = [1, 2]\nsiez = 3"),
        "a.toml:11: layer 3 `c`: unknown field `siez`, expected `name` or `size`; nearest: size"
    );
    assert_eq!(
        third("kind = 'flat'\nnmae = 3"),
        "a.toml:10: layer 3 `c`: unknown field `nmae`, expected `name`; nearest: name"
    );
    assert_eq!(
        third("kind = 'falt'"),
        "a.toml:9: layer 3 `c`: kind: found `falt`, expected `wide` or `flat`; nearest: flat"
    );
    assert_eq!(third("kind = 'wide'"), "a.toml:7: layer 3 `c`: `size` is missing");
    assert_eq!(third(""), "a.toml:7: layer 3 `c`: `kind` is missing");
    assert_eq!(third("kind = 3"), "a.toml:9: layer 3 `c`: kind: write it in quotes");
    assert_eq!(
        read("layer = [{ name = 'a', kind = 'wide',\n  size = 1 }]").unwrap_err(),
        "a.toml:2: layer 1 `a`: size: found 1, expected a list of 2 values"
    );
}

#[test]
fn what_the_outermost_table_lacks_is_in_no_line() {
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code, reason = "what is read matters")]
    struct Whole {
        name: String,
        part: Part,
    }
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code, reason = "what is read matters")]
    struct Part {
        size: u32,
    }
    let told = |text: &str| TomlText::parse(text).unwrap().read::<Whole>().unwrap_err().to_string();
    let expected = "`name` is missing at the top level";
    assert_eq!(told("[part]\nsize = 1\n"), expected);
    assert_eq!(told("# nothing but\n\n[part]\nsize = 1"), expected);
    assert_eq!(told("name = 'a'\n[part]\n"), "line 2: [part] `size` is missing");
}

/// Messages of serde, and how people are told them.
#[test]
fn types_are_told_in_plain_words() {
    for (serde, told) in [
        ("invalid value: integer `-3`, expected u8", "found -3, expected a whole number from 0 to 255"),
        ("invalid type: sequence, expected f64", "found a list, expected a number"),
        ("invalid type: map, expected a string", "found a table, expected a text in quotes"),
        ("invalid type: string \"yes\", expected a boolean", "found \"yes\", expected true or false"),
        ("invalid length 3, expected an array of length 2", "found 3 values, expected a list of 2 values"),
        ("invalid type: boolean `true`, expected struct WrittenInput", "found true, expected a table"),
        ("wanted string or table", "expected a name in quotes"),
        ("missing field `method`", "`method` is missing"),
        ("`x` is no placement: dram, activations or all", "`x` is no placement: dram, activations or all"),
    ] {
        assert_eq!(wording::in_plain_words(serde, &[]), told);
    }
}

#[test]
fn keys_of_sections_are_told_with_their_section() {
    let told = |text: &str| read(text).unwrap_err();
    assert_eq!(
        told("[memory]\nlatency = 'x'"),
        "a.toml:2: [memory] latency: found \"x\", expected a whole number from 0 to 4294967295"
    );
    assert_eq!(
        told("[memory]\n\nlatancy = 1"),
        "a.toml:3: [memory] unknown field `latancy`, expected one of `latency`, `cache`, `checked`; nearest: latency"
    );
    assert_eq!(
        told("memroy = 3"),
        "a.toml:1: unknown field `memroy`, expected `memory` or `layer`; nearest: memory"
    );
    // A list or a section of an unknown name.
    assert_eq!(
        told("[[layers]]\nname = 'a'\nkind = 'flat'"),
        "a.toml:1: unknown field `layers`, expected `memory` or `layer`; nearest: layer"
    );
    assert_eq!(
        told("[memory]\nlatency = 1\n[memroy]\nlatency = 2"),
        "a.toml:3: unknown field `memroy`, expected `memory` or `layer`; nearest: memory"
    );
    // Read as a whole, and wrong in one of its keys.
    assert_eq!(
        told("[memory.checked]\nways = 1\nsets = 3"),
        "a.toml:3: [memory.checked] sets = 3: a power of two"
    );
    assert!(told("[memory]\nlatency = ").starts_with("a.toml:2: "));
}

#[test]
fn what_is_found_later_has_its_place_as_well() {
    let text = "[memory]\nlatency = 1\n[memory.cache]\nsets = 3\n[[layer]]\nname = 'a'\nkind = 'flat'\n";
    let text = TomlText::parse(text).unwrap();
    let told = |path: &str| text.wrong(path, "no").to_string();
    assert_eq!(told("memory.latency"), "line 2: [memory] no");
    assert_eq!(told("memory.cache.sets"), "line 4: [memory.cache] no");
    assert_eq!(told("memory.cache.ways"), "line 3: [memory.cache] no");
    assert_eq!(told("layer.0.kind"), "line 7: layer 1 `a`: no");
    assert_eq!(told("layer.0.size"), "line 5: layer 1 `a`: no");
    assert_eq!(told("nothing"), "no");
}

#[test]
fn a_name_is_shown_without_its_control_characters() {
    let told = read("[[layer]]\nname = \"a\\u001b[2J\"\nkind = 'f'").unwrap_err();
    assert!(told.contains("`a\\u{1b}[2J`"), "{told}");
}
