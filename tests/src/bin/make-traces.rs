//! Writes the project's own traces into `traces/`.

use vp_tests::{shared, traces};

fn main() -> std::io::Result<()> {
    for trace in traces::all() {
        let folder = trace.folder();
        std::fs::create_dir_all(&folder)?;
        for (name, text) in &trace.files {
            std::fs::write(folder.join(name), text)?;
        }
        shared::say(&format!("{}/{}: {} files", trace.config, trace.name, trace.files.len()));
    }
    Ok(())
}
