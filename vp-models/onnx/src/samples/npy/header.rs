//! Header of an array's file: a dictionary as Python writes it, with the type, the order of the axes and the shape.

use super::{MAGIC, MOST_HEADER, NpyError};

/// Contents of a header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    /// Type of the elements, such as `<f4`.
    pub(super) kind: String,
    /// The first axis is the fastest.
    pub(super) is_fortran: bool,
    pub(super) shape: Vec<usize>,
}

impl Header {
    /// Takes the header off a file; returns it and what is behind it.
    pub(super) fn read(file: &[u8]) -> Result<(Header, &[u8]), NpyError> {
        let rest = file.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
        let (length, rest) = match rest {
            [1, 0, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, 0, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
            [1..=3, 0, ..] | [] | [_] => return Err(NpyError::Magic),
            [major, minor, ..] => return Err(NpyError::Version(*major, *minor)),
        };
        let wrong = |what: String| NpyError::Header(format!("{length} bytes: {what}"));
        if length > MOST_HEADER {
            return Err(wrong(format!("at most {MOST_HEADER} are read")));
        }
        let (text, data) = rest.split_at_checked(length).ok_or_else(|| wrong("it is cut off".to_owned()))?;
        let text = std::str::from_utf8(text).map_err(|_| wrong("it is no text".to_owned()))?;
        let header = Header::parse(text).map_err(|what| wrong(what.to_owned()))?;
        Ok((header, data))
    }

    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
    fn parse(text: &str) -> Result<Header, &'static str> {
        let mut rest = Rest(text);
        let (mut kind, mut is_fortran, mut shape) = (None, None, None);
        rest.expect("{")?;
        while !rest.takes("}") {
            let key = rest.quoted()?;
            rest.expect(":")?;
            match key {
                "descr" => kind = Some(rest.quoted()?.to_owned()),
                "fortran_order" => is_fortran = Some(rest.boolean()?),
                "shape" => shape = Some(rest.sizes()?),
                _ => return Err("a key is none of descr, fortran_order and shape"),
            }
            if !rest.takes(",") {
                rest.expect("}")?;
                break;
            }
        }
        match (kind, is_fortran, shape) {
            _ if !rest.0.trim().is_empty() => Err("text is behind its closing brace"),
            (Some(kind), Some(is_fortran), Some(shape)) => Ok(Header { kind, is_fortran, shape }),
            _ => Err("descr, fortran_order or shape is missing"),
        }
    }
}

/// Text that is not read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.0.trim_ascii_start().strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), &'static str> {
        match self.takes(sign) {
            true => Ok(()),
            false => {
                Err("it is no dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }")
            }
        }
    }

    fn quoted(&mut self) -> Result<&'a str, &'static str> {
        let rest = self.0.trim_ascii_start();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
        let text = quote.and_then(|quote| rest[1..].split_once(quote));
        let (text, rest) = text.ok_or("a key or type is no text in quotes; structured types are not read")?;
        self.0 = rest;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, &'static str> {
        match self.takes("True") {
            true => Ok(true),
            false if self.takes("False") => Ok(false),
            false => Err("fortran_order is neither True nor False"),
        }
    }

    fn sizes(&mut self) -> Result<Vec<usize>, &'static str> {
        let wrong = "shape is no tuple of sizes such as (2, 3)";
        let mut sizes = Vec::new();
        if !self.takes("(") {
            return Err(wrong);
        }
        while !self.takes(")") {
            let rest = self.0.trim_ascii_start();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            sizes.push(rest[..digits].parse().map_err(|_| wrong)?);
            self.0 = &rest[digits..];
            if !self.takes(",") && !self.0.trim_ascii_start().starts_with(')') {
                return Err(wrong);
            }
        }
        Ok(sizes)
    }
}

/// Everything before the elements: version 1.0 where the header fits into it, else 2.0, filled up so that the elements begin at a multiple of 64.
pub(super) fn written(kind: &str, shape: &[usize]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let text =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}{comma}), }}", sizes.join(", "));
    let padded = |before: usize| (before + text.len() + 1).next_multiple_of(64) - before;
    let mut file = MAGIC.to_vec();
    match u16::try_from(padded(10)) {
        Ok(length) => file.extend([&[1, 0][..], &length.to_le_bytes()].concat()),
        Err(_) => file.extend([&[2, 0][..], &(padded(12) as u32).to_le_bytes()].concat()),
    }
    file.extend(text.as_bytes());
    file.resize((file.len() + 1).next_multiple_of(64) - 1, b' ');
    file.push(b'\n');
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_may_write_is_read() {
        let header = |kind: &str, is_fortran, shape: &[usize]| {
            Ok(Header { kind: kind.to_owned(), is_fortran, shape: shape.to_vec() })
        };
        assert_eq!(
            Header::parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n"),
            header("<f4", false, &[2, 3])
        );
        assert_eq!(
            Header::parse("{\"shape\":(5,),\"fortran_order\":True,\"descr\":\"|u1\"}"),
            header("|u1", true, &[5])
        );
        assert_eq!(
            Header::parse("{'shape': (), 'fortran_order': False, 'descr': '<i8'}"),
            header("<i8", false, &[])
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, what) in [
            ("", "no dictionary"),
            ("{'descr' '<f4'}", "no dictionary"),
            ("{'descr': [('a', '<f4')], }", "structured"),
            ("{'descr': '<f4', 'shape': (2), }", "is missing"),
            ("{'descr': '<f4', 'fortran_order': 0, }", "neither True nor False"),
            ("{'shape': (-1,), }", "no tuple of sizes"),
            ("{'shape': (1 2), }", "no tuple of sizes"),
            ("{'shape': (99999999999999999999,), }", "no tuple of sizes"),
            ("{'extra': 1}", "a key is none of"),
            ("{'shape': (1,), 'fortran_order': False, 'descr': 'é'} x", "behind its closing brace"),
            ("{é", "in quotes"),
        ] {
            let error = Header::parse(text).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
