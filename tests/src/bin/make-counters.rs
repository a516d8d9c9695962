//! Writes the page about counters from the models' table: `make-counters FILE`, `docs/counters.md`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: make-counters FILE")?;
    Ok(std::fs::write(file, vp_models::counters::page())?)
}
