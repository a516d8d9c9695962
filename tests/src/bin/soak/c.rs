//! A program in C with the library for C (`clients/c`): the CPU of a platform, at its pins. What it sees is what it sees in process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rand::rngs::SmallRng;

use crate::Around;
use crate::process;
use crate::server::ServerPlace;
use crate::tally::Party;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/soak/cpu.c");
const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/c/include");

/// The program, and what it prints in process.
pub(crate) struct C {
    program: PathBuf,
    printed: String,
}

/// The library, where it is and can be linked; why not, if so.
pub(crate) fn library() -> Result<PathBuf, String> {
    let compiler = Command::new("cc").arg("--version").stdout(Stdio::null()).status();
    match compiler.is_ok_and(|status| status.success()) {
        true => process::beside("libvp.a", "vp-c"),
        false => Err("no C compiler (cc) here".to_owned()),
    }
}

impl C {
    pub(crate) fn build(library: &Path, folder: &Path) -> Result<C, String> {
        let program = folder.join("cpu");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", HEADERS, SOURCE]).arg(library);
        compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
        process::output(&mut compiler)?;
        let printed = process::output(Command::new(&program).arg("inproc:nv_small"))?;
        match printed.is_empty() {
            true => Err(format!("{} prints nothing", program.display())),
            false => Ok(C { program, printed }),
        }
    }

    /// Runs it at a server, and compares, or kills it.
    pub(crate) fn work(
        &self,
        place: &ServerPlace,
        random: &mut SmallRng,
        around: &Around<'_>,
    ) -> Result<(), String> {
        process::pause(random, 400);
        let mut command = Command::new(&self.program);
        command.arg(&place.address).envs(around.site.lab.of_client());
        let kill = process::kill_time_within(random, 200);
        around.run_at(place, Party::C, &mut command, kill, |printed| match printed == self.printed {
            true => Ok(()),
            false => Err(format!("it prints\n{printed}not\n{}", self.printed)),
        })
    }
}
