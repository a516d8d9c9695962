//! Errors of PGM and PPM.

/// Error of a PGM or PPM.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetpbmError {
    /// Another format of the family.
    #[error("a Netpbm file P{0}: P2, P5 (PGM), P3 and P6 (PPM) are read")]
    Kind(char),
    /// A header that ends early.
    #[error("its header has no {0}")]
    Header(&'static str),
    /// A greatest sample that is none.
    #[error("its greatest sample is {0}; 1 to 65535 are possible")]
    Most(usize),
    /// Samples that are not there.
    #[error("{found} samples of {wanted}")]
    Samples {
        /// Number of samples that there are.
        found: usize,
        /// Number of samples that the header says.
        wanted: usize,
    },
}
