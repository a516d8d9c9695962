//! Map of what the models are held to, as `vp platform describe` says it, held to the tests' data.

use vp_study::rtl::proven;

#[test]
fn the_map_of_what_is_proven_is_that_of_the_data() {
    let Some(found) = vp_tests::proven::count("the map of what is proven") else { return };
    let (found, kept) = (proven::text(&found), proven::text(&proven::kept()));
    assert!(found == kept, "counted:\n{found}\nkept:\n{kept}\n`make-proven` writes it anew");
}
