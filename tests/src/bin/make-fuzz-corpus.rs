//! Writes the corpora of the fuzz targets into `tests/data/fuzz/`.

use vp_tests::fuzz::{TARGETS, corpus};
use vp_tests::shared;

fn main() -> std::io::Result<()> {
    for target in TARGETS {
        let folder = target.folder();
        std::fs::create_dir_all(&folder)?;
        let files = corpus::of(&target)?;
        for (name, case) in &files {
            std::fs::write(folder.join(name), case)?;
        }
        let bytes: usize = files.iter().map(|(_, case)| case.len()).sum();
        shared::say(&format!("{}: {} files, {bytes} bytes", target.name, files.len()));
    }
    Ok(())
}
