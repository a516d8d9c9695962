//! Names of platforms and of token holders, as people are shown them.

use vp_models::printable::is_unfit;

/// Refuses a name that is too long, or would not be shown as it is.
pub(crate) fn check(name: &str) -> Result<(), &'static str> {
    match (1..=64).contains(&name.len()) && !name.contains(is_unfit) {
        true => Ok(()),
        false => Err("a name has 1 to 64 bytes and no control characters"),
    }
}

/// Refuses a shared platform's name as [`check`] does, and one that would be taken for a session's own platform: that is `#` and the
/// session's number.
pub(crate) fn check_platform(name: &str) -> Result<(), &'static str> {
    check(name).map_err(|_| "a platform's name has 1 to 64 bytes and no control characters")?;
    match name.starts_with('#') {
        true => Err("a platform's name does not begin with `#`: such a name is that of a session's own"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_platform_is_not_called_as_a_sessions_own_is() {
        for name in ["#1", "#", "#lab", "#0001"] {
            assert!(check(name).is_ok());
            assert!(check_platform(name).unwrap_err().contains("does not begin with `#`"), "{name}");
        }
        for name in ["", "a\u{202e}b", "a\u{9b}", "a\n", &"x".repeat(65)] {
            assert!(
                check_platform(name).unwrap_err().starts_with("a platform's name has 1 to 64"),
                "{name:?}"
            );
        }
        assert_eq!(check_platform("lab #1 é"), Ok(()));
    }
}
