//! Values of the native protocol as the hub has them, and back: for a server and for its partners, neither of which knows
//! the other.

pub mod partner_event;

#[cfg(test)]
mod tests {
    /// The wire and the models know nothing of each other.
    #[test]
    fn text_of_peers_and_of_files_has_one_rule() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let (wire, files) =
                (vp_protocols::native::printable::is_unfit(c), vp_models::printable::is_unfit(c));
            assert_eq!(wire, files, "{c:?}");
        }
    }
}
