//! Answers of a classifier: the likeliest classes, with their names and probabilities.

use std::path::Path;
use vp_models::bounded_file::read_description;
use vp_models::printable::one_line;
use vp_models::toml_text::TextError;

/// Furthest distance of the sum of shares from 1, for they may be rounded to 8 or 16 bits.
const MOST_OFF: f64 = 0.05;

/// Names of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    names: Vec<String>,
}

impl Labels {
    /// Reads a file with a name a line, the first for class 0. Empty lines at its end count for nothing.
    ///
    /// # Errors
    /// When it cannot be read, is no text, or has no name.
    pub fn load(file: &Path) -> Result<Labels, TextError> {
        let text = read_description(file).map_err(|error| TextError::unreadable(file, error))?;
        Labels::parse(&text).map_err(|error| error.in_file(file))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it has no name.
    pub fn parse(text: &str) -> Result<Labels, TextError> {
        let names: Vec<String> =
            text.trim_end().lines().map(|line| one_line(line.trim()).into_owned()).collect();
        match names.is_empty() {
            true => Err(TextError::whole("no labels: one a line is expected, the first for class 0")),
            false => Ok(Labels { names }),
        }
    }

    /// Number of classes that have a name.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Returns the name of a class.
    pub fn name(&self, class: usize) -> Option<&str> {
        self.names.get(class).map(String::as_str)
    }
}

/// A class that a network may have recognised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Place of the class among the outputs, from 0.
    pub class: usize,
    /// Output of the class.
    pub output: f32,
    /// Probability of the class, from 0 to 1; not a number if an output is none.
    pub share: f64,
}

/// The likeliest classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// Classes, the likeliest first; of equal ones the first.
    pub classes: Vec<Answer>,
    /// The outputs were shares already; else shares are their softmax.
    pub are_shares: bool,
}

/// Returns so many of the likeliest classes. The outputs are taken for probabilities as they are if each is from 0 to 1 and their sum is 1 within 0.05;
/// of others (logits) the softmax is.
pub fn answers(outputs: &[f32], most: usize) -> Answers {
    let sum: f64 = outputs.iter().map(|output| f64::from(*output)).sum();
    let is_share = |output: &f32| (0.0..=1.0).contains(output);
    let are_shares = outputs.iter().all(is_share) && (sum - 1.0).abs() <= MOST_OFF;
    let greatest = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponential = |output: f32| (f64::from(output) - f64::from(greatest)).exp();
    let whole: f64 = outputs.iter().map(|output| exponential(*output)).sum();
    let mut classes: Vec<usize> = (0..outputs.len()).collect();
    // What is no number comes last.
    let key = |class: &usize| if outputs[*class].is_nan() { f32::NEG_INFINITY } else { outputs[*class] };
    classes.sort_by(|one, other| key(other).total_cmp(&key(one)));
    let answer = |class: usize| {
        let output = outputs[class];
        let share = if are_shares { output.into() } else { exponential(output) / whole };
        Answer { class, output, share }
    };
    Answers { classes: classes.into_iter().take(most).map(answer).collect(), are_shares }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(answers: &Answers) -> Vec<usize> {
        answers.classes.iter().map(|answer| answer.class).collect()
    }

    #[test]
    fn logits_become_shares() {
        let answers = answers(&[1.0, 3.0, -2.0, 3.0], 3);
        assert_eq!((classes(&answers), answers.are_shares), (vec![1, 3, 0], false));
        let whole = 1.0_f64.exp() + 2.0 * 3.0_f64.exp() + (-2.0_f64).exp();
        for answer in &answers.classes {
            assert!((answer.share - f64::from(answer.output).exp() / whole).abs() < 1e-12, "{answer:?}");
        }
    }

    #[test]
    fn shares_stay() {
        let given = answers(&[0.25, 0.7, 0.06], 9);
        assert_eq!((classes(&given), given.are_shares), (vec![1, 0, 2], true));
        assert_eq!(given.classes[0].share, f64::from(0.7_f32));
        // Not of one whole.
        assert!(!answers(&[0.9, 0.9], 1).are_shares);
        assert!(!answers(&[1.5, -0.5], 1).are_shares);
    }

    #[test]
    fn great_and_strange_outputs_are_ranked() {
        let great = answers(&[1e30, 1e30, 0.0], 1);
        assert_eq!((classes(&great), great.classes[0].share), (vec![0], 0.5));
        let strange = answers(&[f32::NAN, 1.0, f32::INFINITY], 3);
        assert_eq!(classes(&strange), [2, 1, 0]);
        assert!(strange.classes[0].share.is_nan());
        assert_eq!(answers(&[], 5).classes, []);
    }

    #[test]
    fn labels_are_lines() {
        let labels = Labels::parse("tench\r\n\n goldfish, \x1b[2JCarassius auratus \n\n").unwrap();
        assert_eq!(labels.count(), 3);
        assert_eq!(labels.name(0), Some("tench"));
        assert_eq!(labels.name(1), Some(""));
        assert_eq!(labels.name(2), Some("goldfish, ?[2JCarassius auratus"));
        assert_eq!(labels.name(3), None);
        let error = Labels::parse(" \n").unwrap_err().to_string();
        assert_eq!(error, "no labels: one a line is expected, the first for class 0");
        assert!(
            Labels::load(Path::new("no/labels.txt")).unwrap_err().to_string().starts_with("no/labels.txt: ")
        );
    }
}
