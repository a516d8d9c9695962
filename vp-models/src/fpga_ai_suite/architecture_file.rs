//! The vendor's architecture files (`.arch`), recognised so that a refusal says what of one a platform file can say, and what is missing.
//!
//! FPGA AI Suite Handbook, "Architecture File Breakdown": protobuf text, with the MAC array's parallelism at the top (`k_vector : 32`), and a
//! section for each part of the IP (`dma { ddr_data_bytes : 64 }`).

use std::fmt;

/// Keys of an architecture file that a platform's `[fpga_ai_suite]` has as well, and their names there. With a dot: of a section.
const SHARED: [(&str, &str); 3] = [
    ("k_vector", "parallel_kernels"),
    ("c_vector", "parallel_channels"),
    ("dma.ddr_data_bytes", "memory_word"),
];

/// An architecture file, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchitectureFile {
    /// Parameters that a platform file can give: their names there, values, and names here.
    shared: Vec<(&'static str, u32, &'static str)>,
    /// All other keys at the top, and sections.
    others: Vec<String>,
    /// The format of its numbers, such as `FP13AGX`.
    precision: Option<String>,
}

impl ArchitectureFile {
    /// Returns the file if the text is one: it gives both `k_vector` and `c_vector`, in protobuf's form.
    pub fn of(text: &str) -> Option<ArchitectureFile> {
        let mut file = ArchitectureFile::default();
        // Of nested sections only the outermost matters.
        let (mut section, mut depth) = ("", 0_usize);
        let (mut key, mut is_value) = ("", false);
        for token in tokens(text) {
            match token {
                "{" | "<" => {
                    if depth == 0 {
                        file.other(key);
                        section = key;
                    }
                    depth += 1;
                    (key, is_value) = ("", false);
                }
                "}" | ">" => {
                    depth = depth.saturating_sub(1);
                    (key, is_value) = ("", false);
                }
                ":" => is_value = !key.is_empty(),
                "," | ";" | "[" | "]" => {}
                value if is_value => {
                    if depth < 2 {
                        file.take((depth > 0).then_some(section), key, value);
                    }
                    (key, is_value) = ("", false);
                }
                word => key = word,
            }
        }
        let has = |name: &str| file.shared.iter().any(|(.., theirs)| *theirs == name);
        (has("k_vector") && has("c_vector")).then_some(file)
    }

    fn take(&mut self, section: Option<&str>, key: &str, value: &str) {
        let path = section.map_or_else(|| key.to_owned(), |section| format!("{section}.{key}"));
        let shared = SHARED.iter().find(|(theirs, _)| *theirs == path);
        match (shared, value.parse()) {
            (Some(&(theirs, ours)), Ok(number)) => {
                // As in protobuf, the last one counts.
                self.shared.retain(|known| known.2 != theirs);
                self.shared.push((ours, number, theirs));
            }
            _ if key == "arch_precision" => self.precision = is_word(value).then(|| value.to_owned()),
            _ if section.is_none() => self.other(key),
            _ => {}
        }
    }

    fn other(&mut self, name: &str) {
        // A few dozen are there; a file that goes on for ever is not listed for ever.
        if is_word(name) && self.others.len() < 64 && !self.others.iter().any(|known| known == name) {
            self.others.push(name.to_owned());
        }
    }
}

/// The words, strings and signs of a text in protobuf's form, without its comments.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        while rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, behind)| behind).trim_start();
        }
        let first = rest.chars().next()?;
        let length = match first {
            _ if SIGNS.contains(&first) => 1,
            '"' | '\'' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ => {
                rest.find(|c: char| c.is_whitespace() || SIGNS.contains(&c) || c == '#').unwrap_or(rest.len())
            }
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        Some(token)
    })
}

/// Characters that are tokens by themselves.
const SIGNS: [char; 9] = ['{', '}', '<', '>', '[', ']', ':', ',', ';'];

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl fmt::Display for ArchitectureFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ArchitectureFile { shared, others, precision } = self;
        write!(
            f,
            "an architecture file of the FPGA AI Suite, which is not read here: a platform file (TOML) says of it [fpga_ai_suite]"
        )?;
        for (at, (ours, value, theirs)) in shared.iter().enumerate() {
            write!(f, "{} {ours} = {value} ({theirs})", if at == 0 { "" } else { "," })?;
        }
        f.write_str(". Missing here: ")?;
        if let Some(precision) = precision {
            write!(f, "arithmetic of {precision} (layers are computed in int8), and ")?;
        }
        write!(f, "what these say: {} (docs/fpga-ai-suite.md)", others.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# made by hand\nfamily : 'AGX7'\nk_vector : 32\nc_vector : 16\narch_precision : FP13AGX\npe_array {\n  exit_fifo_depth : 1024\n}\n\
                        dma  {\n  csr_addr_width : 11\n  ddr_data_bytes : 64\n}\npool {\n  generic_aux_parameters {\n    k_vector : 4\n  }\n}\n";

    #[test]
    fn an_architecture_file_is_told_what_a_platform_file_can_say_of_it() {
        let text = ArchitectureFile::of(TEXT).unwrap().to_string();
        let given = "[fpga_ai_suite] parallel_kernels = 32 (k_vector), parallel_channels = 16 (c_vector), memory_word = 64 (dma.ddr_data_bytes)";
        assert!(text.contains(given), "{text}");
        assert!(
            text.contains("arithmetic of FP13AGX") && text.contains("family, pe_array, dma, pool ("),
            "{text}"
        );
    }

    #[test]
    fn sections_may_stand_on_one_line() {
        let text = "k_vector: 32 c_vector: 16 dma { csr_addr_width: 11, ddr_data_bytes: 64 } # done\npool < aux { k_vector: 4 } >\n\
                    name: \"a { k_vector: 9 }\"";
        let text = ArchitectureFile::of(text).unwrap().to_string();
        assert!(text.contains("Missing here: what these say"), "{text}");
        let given = "parallel_kernels = 32 (k_vector), parallel_channels = 16 (c_vector), memory_word = 64 (dma.ddr_data_bytes)";
        assert!(text.contains(given) && text.contains("say: dma, pool, name ("), "{text}");
        for text in
            ["pool { k_vector: 4 c_vector: 4 }", "a: 'k_vector: 4 c_vector: 4", "# k_vector: 4 c_vector: 4"]
        {
            assert_eq!(ArchitectureFile::of(text), None, "{text}");
        }
    }

    #[test]
    fn a_parameter_that_stands_several_times_is_told_once() {
        let text = ArchitectureFile::of("k_vector : 1\nk_vector : 3\nc_vector : 2\n").unwrap().to_string();
        assert!(
            text.contains("[fpga_ai_suite] parallel_kernels = 3 (k_vector), parallel_channels = 2"),
            "{text}"
        );
    }

    #[test]
    fn other_texts_are_none() {
        for text in
            ["", "k_vector = 32\nc_vector = 16\n", "pool {\n k_vector : 4\n c_vector : 4\n}\n", "}}}\n{{{"]
        {
            assert_eq!(ArchitectureFile::of(text), None, "{text}");
        }
    }
}
