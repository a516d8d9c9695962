//! Errors of a file, and problems of a model.

use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Reason why a file is no model that can be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: std::io::Error,
    },
    /// The bytes are no protobuf.
    #[error(
        "byte {place} is not the beginning of a protobuf field: this is not an ONNX model, or part of one"
    )]
    NotProtobuf {
        /// Place in the file.
        place: usize,
    },
    /// The protobuf is no ONNX model.
    #[error("this is not an ONNX model: {0}")]
    NotOnnx(String),
    /// More of something than is read.
    #[error("the model has more than {most} {what}, which are not read")]
    Limit {
        /// Name, in the plural, of the things.
        what: &'static str,
        /// Number of them that is read.
        most: usize,
    },
}

/// A reason why a model cannot be run, at one of its nodes or inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Name of the node, input or initializer.
    pub node: String,
    /// Operator of the node; `input` or `initializer` for these.
    pub operator: String,
    /// Cause.
    pub what: String,
    /// Advice.
    pub instead: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operator.is_empty() {
            write!(f, "`{}`: {}", self.node, self.what)?;
        } else {
            write!(f, "{} `{}`: {}", self.operator, self.node, self.what)?;
        }
        match &self.instead {
            Some(instead) => write!(f, "; {instead}"),
            None => Ok(()),
        }
    }
}

/// All reasons why a model cannot be run, in the order of its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// The first ones.
    pub list: Vec<Problem>,
    /// Number of those beside these.
    pub more: usize,
}

/// Most characters of a text.
const LONGEST_TEXT: usize = 400;

/// Returns a text in one line, cut off where it is long.
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST_TEXT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    vp_models::printable::one_line(&short).into_owned()
}

/// Most problems that are listed.
const MOST_LISTED: usize = 1000;

impl Problems {
    /// Adds a problem, of whose texts the file may have made much.
    pub(crate) fn push(&mut self, mut problem: Problem) {
        let Problem { node, operator, what, instead } = &mut problem;
        for text in [node, operator, what].into_iter().chain(instead) {
            *text = shortened(text);
        }
        if self.list.len() < MOST_LISTED {
            self.list.push(problem);
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.list.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Cause and advice of a problem, before the node is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) what: String,
    pub(crate) instead: Option<String>,
}

impl Fault {
    /// Returns a fault without advice.
    pub(crate) fn new(what: impl Into<String>) -> Fault {
        Fault { what: what.into(), instead: None }
    }

    /// Returns a fault with advice.
    pub(crate) fn with(what: impl Into<String>, instead: impl Into<String>) -> Fault {
        Fault { what: what.into(), instead: Some(instead.into()) }
    }

    /// Returns the problem at a node.
    pub(crate) fn at(self, operator: impl Into<String>, node: impl Into<String>) -> Problem {
        Problem { node: node.into(), operator: operator.into(), what: self.what, instead: self.instead }
    }
}

impl From<vp_tensors::OperatorError> for Fault {
    fn from(error: vp_tensors::OperatorError) -> Fault {
        let instead = matches!(error, vp_tensors::OperatorError::NotConstant { .. })
            .then(|| "export the model with fixed shapes, or cut it before this node".to_owned());
        Fault { what: error.to_string(), instead }
    }
}
