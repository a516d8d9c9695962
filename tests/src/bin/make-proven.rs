//! Writes what the models are held to, counted from the tests' data: `make-proven FILE`, `vp-bridge/study/src/rtl/proven.csv`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: make-proven FILE")?;
    let map = vp_tests::proven::count("a map of what is proven").ok_or("the conformance data is not here")?;
    Ok(std::fs::write(file, vp_study::rtl::proven::text(&map))?)
}
