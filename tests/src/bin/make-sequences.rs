//! Writes sequences of layers, drawn from seeds, as traces: `make-sequences PLATFORM FIRST_SEED COUNT FOLDER [anything]`.
//!
//! `vp run FOLDER` plays them on the model; `vp compare FOLDER --device-command COMMAND` beside the device's RTL.

use std::path::Path;

use vp_tests::random::{Draw, Leaves};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (platform, first, count, folder, leaves) = match &arguments[..] {
        [platform, first, count, folder] => (platform, first, count, folder, Leaves::WhatIsTaken),
        [platform, first, count, folder, any] if any == "anything" => {
            (platform, first, count, folder, Leaves::Anything)
        }
        _ => return Err("usage: make-sequences PLATFORM FIRST_SEED COUNT FOLDER [anything]".into()),
    };
    let (first, count): (u64, u64) = (first.parse()?, count.parse()?);
    for seed in first..first + count {
        let name = format!("sequence_{platform}_{seed}");
        let folder = Path::new(folder).join(platform).join(&name);
        std::fs::create_dir_all(&folder)?;
        let layers = 4 + (seed % 3) as usize;
        Draw::new(platform, seed).sequence(&name, layers, leaves).trace.save(&folder)?;
    }
    Ok(())
}
