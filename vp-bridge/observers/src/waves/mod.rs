//! Waveforms: buses, units, lines and buffers as signals over time.
//!
//! [`signals`](self) of a source follow from its kind; their places in the hierarchy follow from its name. The
//! file is FST or VCD, by its extension.

mod fst;
mod recorder;
mod signals;
mod vcd;
mod waveform;

use std::path::Path;

use crate::ObserveError;
pub(crate) use waveform::Waveform;

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Fst,
    Vcd,
}

impl FileKind {
    /// Returns the kind of a file, by its ending.
    pub(crate) fn of(path: &Path) -> Result<FileKind, ObserveError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("fst") => Ok(FileKind::Fst),
            Some("vcd") => Ok(FileKind::Vcd),
            _ => Err(ObserveError::Option {
                option: "--trace",
                given: path.display().to_string(),
                why: "a waveform's name ends in .fst, or in .vcd for the older, larger format".to_owned(),
            }),
        }
    }
}

/// A signal of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    /// Path of the signal, whose last part is its name: `c` in `[a, b, c]`.
    path: Vec<String>,
    shape: Shape,
}

/// Kind of values that a signal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A number of so many bits.
    Bits(u32),
    /// Text of so many characters at most.
    Text(u32),
}

/// Writes a file of one format.
trait Format: Send {
    /// Changes from here on are at that time, in picoseconds. It increases.
    fn time(&mut self, picoseconds: u64) -> std::io::Result<()>;

    /// The variable of that number has a new value, of as many bits as it has.
    fn bits(&mut self, variable: usize, value: u64) -> std::io::Result<()>;

    /// The variable of that number has a new text, which fits.
    fn text(&mut self, variable: usize, text: &str) -> std::io::Result<()>;

    /// Ends the file at that time, and gives it its name.
    fn finish(self: Box<Self>, picoseconds: u64) -> std::io::Result<()>;
}

/// Walks through the scopes of variables, each visited in the order of their paths.
fn walk<E>(variables: &[Variable], mut visit: impl FnMut(ScopeStep<'_>) -> Result<(), E>) -> Result<(), E> {
    let mut order: Vec<usize> = (0..variables.len()).collect();
    // Stable: the signals of one scope keep the order in which they were made.
    order.sort_by(|&one, &other| scope(&variables[one]).cmp(scope(&variables[other])));
    let mut open: &[String] = &[];
    for number in order {
        let scope = scope(&variables[number]);
        let common = open.iter().zip(scope).take_while(|(one, other)| one == other).count();
        (common..open.len()).try_for_each(|_| visit(ScopeStep::Up))?;
        scope[common..].iter().try_for_each(|name| visit(ScopeStep::Into(name)))?;
        visit(ScopeStep::Variable(number, &variables[number]))?;
        open = scope;
    }
    open.iter().try_for_each(|_| visit(ScopeStep::Up))
}

fn scope(variable: &Variable) -> &[String] {
    &variable.path[..variable.path.len() - 1]
}

enum ScopeStep<'a> {
    Into(&'a str),
    Variable(usize, &'a Variable),
    Up,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_say_the_format() {
        assert_eq!(FileKind::of(Path::new("a/run.fst")).unwrap(), FileKind::Fst);
        assert_eq!(FileKind::of(Path::new("run.x.vcd")).unwrap(), FileKind::Vcd);
        for other in ["run", "run.ghw", "fst"] {
            let refused = FileKind::of(Path::new(other)).unwrap_err().to_string();
            assert_eq!(
                refused,
                format!(
                    "--trace {other}: a waveform's name ends in .fst, or in .vcd for the older, larger format"
                )
            );
        }
    }

    #[test]
    fn scopes_are_opened_once_and_closed() {
        let variable = |path: &str| Variable {
            path: path.split('.').map(str::to_owned).collect(),
            shape: Shape::Bits(1),
        };
        let variables = [variable("p.irq"), variable("p.b.x"), variable("p.a.z.q"), variable("p.b.a")];
        let mut steps = Vec::new();
        walk::<()>(&variables, |step| {
            steps.push(match step {
                ScopeStep::Into(scope) => format!("{scope}{{"),
                ScopeStep::Variable(number, _) => number.to_string(),
                ScopeStep::Up => "}".to_owned(),
            });
            Ok(())
        })
        .unwrap();
        assert_eq!(steps.join(" "), "p{ 0 a{ z{ 2 } } b{ 1 3 } }");
    }
}
