//! The commands of `vp`, in groups by use. A command's place in one of the enums is all that says its group.

use std::fmt::Write as _;

use clap::Subcommand;
use clap::builder::{StyledStr, Styles};

#[cfg(target_os = "linux")]
use super::qemu;
use super::{
    Failure, Verdict, attach, attach_device, check_peer, compare, compare_rtl, demo, diff, live, platform,
    regs, renode, replay, run, save, serve, shell, study,
};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    #[command(flatten)]
    Run(Run),
    #[command(flatten)]
    Serve(Serve),
    #[command(flatten)]
    Look(InspectCommand),
    #[command(flatten)]
    Study(Study),
    #[command(flatten)]
    Rtl(Rtl),
    #[command(flatten)]
    Conformance(Conformance),
    #[command(flatten)]
    Shell(Shell),
}

/// Headings of the groups in `vp --help`, each with what adds its commands to a `clap::Command`.
const GROUPS: [(&str, fn(clap::Command) -> clap::Command); 7] = [
    ("Run", Run::augment_subcommands),
    ("Serve and attach", Serve::augment_subcommands),
    ("Look inside", InspectCommand::augment_subcommands),
    ("Studies", Study::augment_subcommands),
    ("RTL", Rtl::augment_subcommands),
    ("Conformance", Conformance::augment_subcommands),
    ("Shell", Shell::augment_subcommands),
];

#[derive(Debug, Subcommand)]
pub(super) enum Run {
    /// Classify handwritten digits with a small network, and show where the cycles go
    Demo(demo::Args),
    /// Run traces, loadables or networks, and check their results
    Run(run::Args),
    /// List, describe, check and print platforms
    Platform(platform::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum Serve {
    /// Serve a platform to programs that connect
    Serve(serve::Args),
    /// Debug a served platform: stop its time, step, set breakpoints
    Attach(attach::Args),
    /// Connect an outside device or memory to a served platform
    AttachDevice(attach_device::Args),
    /// Save a served platform to a file, for `vp serve --restore`
    ///
    /// The platform is saved at the next time at which no transaction is under way.
    Save(save::Args),
    /// Start QEMU with a platform's device in its guest
    #[cfg(target_os = "linux")]
    Qemu(qemu::Args),
    /// Connect a platform to Renode as a co-simulated peripheral
    ///
    /// Renode starts this command, and passes it the ports to connect to.
    Renode(renode::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum InspectCommand {
    /// Show a server's platforms: sessions, ports, units, time
    Status(live::status::Args),
    /// Show what a served platform's driver and device wait for
    Where(attach::whereabouts::Args),
    /// Show the counters of a served platform
    Stats(live::stats::Args),
    /// Show the register map, or the register values of a served platform
    Regs(regs::Args),
    /// Show bytes of a served platform's memory
    Peek(live::memory::Args),
    /// Write a register, or bytes of memory, of a served platform
    Poke(live::poke::Args),
    /// Run a recording again, and check that the platform does the same
    ///
    /// Takes the CPU's accesses and all other inputs from the recording, and compares the platform's outputs and event hash with it.
    Replay(replay::Args),
    /// Show the first difference of two recordings or register logs
    Diff(diff::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum Study {
    /// Sweep platforms, memories and networks, with tables and a report
    Study(study::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum Rtl {
    /// Find the first transaction that differs between RTL and the model
    ///
    /// Runs traces twice: with a part of the platform in another program, such as a simulator of its RTL, and with the model.
    Compare(compare::Args),
    /// Compare the model's cycles and memory traffic with measured RTL
    CompareRtl(compare_rtl::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum Conformance {
    /// Check another program against the rules of a protocol
    ///
    /// Connects to the program as its peer, and lists each rule as kept or broken.
    CheckPeer(check_peer::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum Shell {
    /// Print a shell's completion script for commands and options
    Completions(shell::CompletionsArgs),
    /// Write the manual pages to a folder
    Man(shell::ManArgs),
}

impl Command {
    pub(super) fn main(&self) -> Result<Verdict, Failure> {
        match self {
            Command::Run(command) => match command {
                Run::Demo(args) => demo::main(args),
                Run::Run(args) => run::main(args),
                Run::Platform(args) => platform::main(args),
            },
            Command::Serve(command) => match command {
                Serve::Serve(args) => serve::main(args),
                Serve::Attach(args) => attach::main(args),
                Serve::AttachDevice(args) => attach_device::main(args),
                Serve::Save(args) => save::main(args),
                #[cfg(target_os = "linux")]
                Serve::Qemu(args) => qemu::main(args),
                Serve::Renode(args) => renode::main(args),
            },
            Command::Look(command) => match command {
                InspectCommand::Status(args) => live::status::main(args),
                InspectCommand::Where(args) => attach::whereabouts::main(args),
                InspectCommand::Stats(args) => live::stats::main(args),
                InspectCommand::Regs(args) => regs::main(args),
                InspectCommand::Peek(args) => live::memory::main(args),
                InspectCommand::Poke(args) => live::poke::main(args),
                InspectCommand::Replay(args) => replay::main(args),
                InspectCommand::Diff(args) => diff::main(args).map_err(Failure::of_comparison),
            },
            Command::Study(Study::Study(args)) => study::main(args),
            Command::Rtl(command) => match command {
                Rtl::Compare(args) => compare::main(args),
                Rtl::CompareRtl(args) => compare_rtl::main(args),
            }
            .map_err(Failure::of_comparison),
            Command::Conformance(Conformance::CheckPeer(args)) => check_peer::main(args),
            Command::Shell(command) => match command {
                Shell::Completions(args) => shell::completions(args),
                Shell::Man(args) => shell::man(args),
            },
        }
    }
}

/// Returns the template of `vp --help`: clap's own, with the commands in their groups.
pub(super) fn help_template() -> StyledStr {
    let groups = GROUPS.map(|(heading, augment)| (heading, augment(clap::Command::new("vp"))));
    let commands = || groups.iter().flat_map(|(_, group)| group.get_subcommands());
    let width = commands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let styles = Styles::default();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut template = String::from("{before-help}{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, group) in &groups {
        let _ = writeln!(template, "\n{header}{heading}:{header:#}");
        for command in group.get_subcommands() {
            let (name, about) = (command.get_name(), command.get_about().cloned().unwrap_or_default());
            let _ = writeln!(template, "  {literal}{name:width$}{literal:#}  {about}");
        }
    }
    let _ = write!(template, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    template.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn help_lists_each_command_in_exactly_one_group() {
        let command = super::super::Cli::command();
        let commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert!(commands.contains(&"attach-device"), "{commands:?}");
        let help = command.clone().render_help().to_string();
        for name in commands {
            let listed = help.lines().filter(|line| line.split_whitespace().next() == Some(name)).count();
            assert_eq!(listed, 1, "{name}:\n{help}");
        }
    }

    #[test]
    fn a_group_has_a_heading_and_commands() {
        for (heading, augment) in GROUPS {
            assert!(augment(clap::Command::new("vp")).has_subcommands(), "{heading}");
        }
    }

    #[test]
    fn a_command_and_its_text_fit_in_a_line_of_a_terminal() {
        let help = super::super::Cli::command().render_help().to_string();
        let commands = help.split("Options:").next().unwrap_or_default();
        let long: Vec<&str> = commands.lines().filter(|line| line.len() > 80).collect();
        assert!(long.is_empty(), "{long:#?}");
    }
}
