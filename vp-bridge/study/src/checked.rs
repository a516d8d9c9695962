//! Values for networks' files that are known to be wrong before any network is read, with the line where they stand.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The values that a key of a network's file takes.
struct Rule {
    key: &'static str,
    /// What would be right.
    right: &'static str,
    is_right: fn(&DeValue<'_>) -> bool,
}

const RULES: [Rule; 4] = [
    Rule { key: "network.zeros", right: "a share, from 0 (none) to 1 (all)", is_right: is_share },
    Rule {
        key: "network.precision",
        right: "int8, int16 or fp16",
        is_right: |it| is_one(it, &["int8", "int16", "fp16"]),
    },
    Rule {
        key: "network.compression",
        right: "never or auto",
        is_right: |it| is_one(it, &["never", "auto"]),
    },
    Rule {
        key: "network.winograd",
        right: "never, auto or always",
        is_right: |it| is_one(it, &["never", "auto", "always"]),
    },
];

fn is_share(value: &DeValue<'_>) -> bool {
    let text = match value {
        DeValue::Float(number) => number.as_str(),
        DeValue::Integer(number) => number.as_str(),
        _ => return false,
    };
    text.replace('_', "").parse::<f64>().is_ok_and(|share| (0.0..=1.0).contains(&share))
}

fn is_one(value: &DeValue<'_>, names: &[&str]) -> bool {
    value.as_str().is_some_and(|name| names.contains(&name))
}

/// Refuses the first such value of a study, by its line and key.
pub(super) fn check(text: &str) -> Result<(), String> {
    // What is no TOML is told by who reads the whole of it.
    let Ok(study) = DeTable::parse(text) else { return Ok(()) };
    for section in ["fixed", "sweep"] {
        if let Some(values) = study.get_ref().get(section) {
            walk("", values, text)?;
        }
    }
    Ok(())
}

/// A value, or the values in it, of a parameter of that name.
fn walk(name: &str, value: &Spanned<DeValue<'_>>, text: &str) -> Result<(), String> {
    match value.get_ref() {
        DeValue::Array(list) => list.iter().try_for_each(|element| walk(name, element, text)),
        DeValue::Table(table) => table.iter().try_for_each(|(key, inner)| {
            let key: &str = key.get_ref();
            match name {
                "" => walk(key, inner, text),
                // How many values there are between these says nothing of them.
                _ if table.contains_key("from") && !["from", "to"].contains(&key) => Ok(()),
                _ if table.contains_key("from") => walk(name, inner, text),
                name => walk(&format!("{name}.{key}"), inner, text),
            }
        }),
        leaf => {
            let Some(rule) = RULES.iter().find(|rule| rule.key == name && !(rule.is_right)(leaf)) else {
                return Ok(());
            };
            let span = value.span();
            let line = text[..span.start].matches('\n').count() + 1;
            Err(format!("line {line}: \"{name}\" = {}: {}", &text[span], rule.right))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn values_that_no_network_takes_are_refused_by_line_and_key() {
        let study = "name = 's'\n[fixed]\nframes = 2\n[sweep]\n";
        let told = |line: &str| check(&format!("{study}{line}\n")).unwrap_err();
        let share = "a share, from 0 (none) to 1 (all)";
        assert_eq!(
            told("'network.zeros' = [0, 0.5, 1.5]"),
            format!("line 5: \"network.zeros\" = 1.5: {share}")
        );
        assert_eq!(
            told("network = 'a'\nx = 1\n'network.zeros' = -1"),
            format!("line 7: \"network.zeros\" = -1: {share}")
        );
        let range = "'network.zeros' = { from = 0.5, to = 2.0, points = 3 }";
        assert_eq!(told(range), format!("line 5: \"network.zeros\" = 2.0: {share}"));
        assert_eq!(
            told("[sweep.network]\nzeros = 'half'"),
            format!("line 6: \"network.zeros\" = 'half': {share}")
        );
        assert_eq!(
            told("'network.precision' = ['int8', 'int4']"),
            "line 5: \"network.precision\" = 'int4': int8, int16 or fp16"
        );
        assert_eq!(
            told("'network.winograd' = true"),
            "line 5: \"network.winograd\" = true: never, auto or always"
        );
    }

    #[test]
    fn all_else_passes() {
        let text = "name = 's'\n[[sweep]]\nnetwork = 'a'\n'network.zeros' = { from = 0, to = 1, step = 0.5 }\n\
                    [[sweep]]\n'network.precision, network.winograd' = [['fp16', 'auto']]\n'network.seed' = 7\n";
        assert_eq!(check(text), Ok(()));
        assert_eq!(check("no toml"), Ok(()));
    }
}
