//! The bytes of a case as a row of choices, and as pieces of a stream.

/// Takes numbers and pieces off the front of a case. Behind its end there are zeros, and no pieces.
#[derive(Debug, Clone)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// All of a case.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices(bytes)
    }

    /// Returns true if nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that are left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The next bytes, up to so many.
    pub fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// The next number.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// The next number of 16 bits.
    pub fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    /// The next number of 32 bits.
    pub fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    /// The next number of 64 bits.
    pub fn u64(&mut self) -> u64 {
        self.number(8)
    }

    fn number(&mut self, bytes: usize) -> u64 {
        let taken = self.take(bytes);
        taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// The next piece of a stream: what one read gives. None: there is no more.
    pub fn piece(&mut self) -> Option<&'a [u8]> {
        if self.is_empty() {
            return None;
        }
        let length = self.u16();
        Some(self.take(usize::from(length)))
    }
}

/// Appends a piece, which [`Choices::piece`] gives back, to a case.
///
/// # Panics
/// When the piece has 64 KiB or more.
pub fn put_piece(piece: &[u8], case: &mut Vec<u8>) {
    let length = u16::try_from(piece.len()).expect("a piece of less than 64 KiB");
    case.extend_from_slice(&length.to_le_bytes());
    case.extend_from_slice(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_given_back_and_a_cut_one_is_shorter() {
        let mut case = vec![7];
        put_piece(b"abc", &mut case);
        put_piece(b"", &mut case);
        put_piece(b"defg", &mut case);
        let mut choices = Choices::new(&case[..case.len() - 1]);
        assert_eq!(choices.byte(), 7);
        let pieces: Vec<&[u8]> = std::iter::from_fn(|| choices.piece()).collect();
        assert_eq!(pieces, [&b"abc"[..], b"", b"def"]);
        assert_eq!((choices.u64(), choices.is_empty()), (0, true));
    }
}
