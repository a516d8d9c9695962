//! Writes the page about platform files from the types that read them: `make-platform-file FILE`, `docs/platform-file.md`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: make-platform-file FILE")?;
    Ok(std::fs::write(file, vp_tests::platform_file::page())?)
}
