//! Completion by the Tab key: of commands, and of the names that may follow them.

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::command::{ALL, STEPS};

/// The names that a platform has.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) registers: Vec<String>,
    pub(super) units: Vec<String>,
    pub(super) memories: Vec<String>,
}

impl Names {
    /// Returns what the word at the end of this part of a line may become, and where that word begins. The only one has a space behind it.
    pub(super) fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let (before, word) = line.split_at(start);
        let before: Vec<&str> = before.split_whitespace().collect();
        let fixed = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let candidates: Vec<String> = match before[..] {
            [] | ["help"] => {
                ALL.iter().map(|of| of.name.to_owned()).filter(|name| !name.is_empty()).collect()
            }
            ["regs"] => self.units.iter().chain(&self.registers).cloned().collect(),
            ["set"] => self.registers.clone(),
            ["mem"] | ["break" | "b", "mem"] => self.memories.clone(),
            ["break" | "b"] => [fixed(&["irq", "layer", "mem", "time"]), self.registers.clone()].concat(),
            ["break" | "b", "layer"] => {
                let units = self.units.iter().map(|unit| unit.to_lowercase());
                units.chain(fixed(&["begin", "end"])).collect()
            }
            ["break" | "b", "layer", _] => fixed(&["begin", "end", "skip", "once"]),
            ["break" | "b", ..] => fixed(&["read", "write", "skip", "once"]),
            ["step" | "s"] => STEPS.iter().map(|(name, _)| (*name).to_owned()).collect(),
            ["continue" | "c"] => fixed(&["until"]),
            _ => Vec::new(),
        };
        let begins = |name: &String| {
            name.get(..word.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
        };
        let mut found: Vec<String> = candidates.into_iter().filter(begins).collect();
        // Behind a register that is to be set there is a field, or a value.
        if let [only] = &mut found[..]
            && before != ["set"]
        {
            only.push(' ');
        }
        (start, found)
    }
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(Names::complete(self, line.get(..pos).unwrap_or_default()))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}

impl Validator for Names {}

impl Helper for Names {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_completed_by_what_may_stand_there() {
        let names = Names {
            registers: vec!["SDP.D_OP_ENABLE".into(), "SDP.S_POINTER".into(), "PDP.S_POINTER".into()],
            units: vec!["SDP".into(), "PDP".into()],
            memories: vec!["dbb0".into()],
        };
        let complete = |line: &str| names.complete(line);
        assert_eq!(complete("st"), (0, vec!["status".into(), "stop".into(), "step".into()]));
        assert_eq!(complete("set sdp.s"), (4, vec!["SDP.S_POINTER".into()]));
        assert_eq!(complete("break S"), (6, vec!["SDP.D_OP_ENABLE".into(), "SDP.S_POINTER".into()]));
        assert_eq!(complete("break ir"), (6, vec!["irq ".into()]));
        assert_eq!(complete("b mem "), (6, vec!["dbb0 ".into()]));
        assert_eq!(complete("b layer p"), (8, vec!["pdp ".into()]));
        assert_eq!(complete("step c"), (5, vec!["cycle ".into()]));
        assert_eq!(complete("regs PDP"), (5, vec!["PDP".into(), "PDP.S_POINTER".into()]));
        assert_eq!(complete("quit "), (5, vec![]));
        assert_eq!(complete("set é"), (4, vec![]));
    }
}
