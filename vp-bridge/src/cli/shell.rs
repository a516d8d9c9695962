//! `vp completions` and `vp man`: what a shell and `man` want to know of the commands, from the commands themselves.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, Failure, Verdict};

#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {
    /// Shell that the script is for
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// Folder for vp.1, vp-run.1 and so on, such as ~/.local/share/man/man1; created if missing
    folder: PathBuf,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Verdict, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "vp", &mut script);
    io::stdout().write_all(&script)?;
    Ok(Verdict::Right)
}

pub(super) fn man(args: &ManArgs) -> Result<Verdict, Failure> {
    let cannot =
        |error: io::Error| Failure::new(format!("cannot write to {}: {error}", args.folder.display()));
    fs::create_dir_all(&args.folder).map_err(cannot)?;
    let mut command = Cli::command();
    command.build();
    write_page(&command, &args.folder, "vp").map_err(cannot)?;
    Ok(Verdict::Right)
}

/// Writes a command's page, and those of its commands.
fn write_page(command: &Command, folder: &Path, name: &str) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
    {
        write_page(inner, folder, &format!("{name}-{}", inner.get_name()))?;
    }
    let mut page = Vec::new();
    Man::new(command.clone().name(name.to_owned())).render(&mut page)?;
    fs::write(folder.join(format!("{name}.1")), page)
}
