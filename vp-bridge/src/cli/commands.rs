//! The commands of `vp`, in groups by use. A command's place in one of the enums is all that says its group.

use std::fmt::Write as _;

use clap::Subcommand;
use clap::builder::{StyledStr, Styles};

#[cfg(target_os = "linux")]
use super::qemu;
use super::{
    Failure, Verdict, attach, attach_device, check_peer, compare, compare_rtl, compile, demo, diff, live,
    loadable, memory, plan, platform, regs, renode, replay, run, save, serve, shell, study,
};

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one in a program")]
pub(super) enum Command {
    #[command(flatten)]
    Run(RunCommand),
    #[command(flatten)]
    Serve(ServeCommand),
    #[command(flatten)]
    Look(LookCommand),
    #[command(flatten)]
    Study(StudyCommand),
    #[command(flatten)]
    Rtl(RtlCommand),
    #[command(flatten)]
    Conformance(ConformanceCommand),
    #[command(flatten)]
    Shell(ShellCommand),
}

/// Function that adds a group's commands.
type Augment = fn(clap::Command) -> clap::Command;

/// Headings of the groups in `vp --help`.
const GROUPS: [(&str, Augment); 7] = [
    ("Run", RunCommand::augment_subcommands),
    ("Serve and attach", ServeCommand::augment_subcommands),
    ("Look inside", LookCommand::augment_subcommands),
    ("Studies", StudyCommand::augment_subcommands),
    ("RTL", RtlCommand::augment_subcommands),
    ("Conformance", ConformanceCommand::augment_subcommands),
    ("Shell", ShellCommand::augment_subcommands),
];

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one in a program")]
pub(super) enum RunCommand {
    /// Classify handwritten digits, and show where the cycles go
    Demo(demo::Args),
    /// Run traces, loadables or networks, and check their results
    Run(run::Args),
    /// Show what becomes of a network's layers, without running it
    ///
    /// For each layer: the units that do it, the hardware layers that it is cut into, banks of the convolution buffer, bytes of input,
    /// weights and output, the address of its output, and estimated cycles. `vp plan conv` does the same for one convolution.
    Plan(plan::Args),
    /// Compile a network to a loadable that NVIDIA's driver runs
    ///
    /// The loadable says what the planner decides (see `vp plan`). Layers of the CPU at the network's end, and a model's nodes before it, are the
    /// application's, and named; a network that the runtime, the driver or the hardware could not run is refused with the rule.
    Compile(compile::Args),
    /// List, describe, check and print platforms
    Platform(platform::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum ServeCommand {
    /// Serve a platform to programs that connect
    Serve(Box<serve::Args>),
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
pub(super) enum LookCommand {
    /// Show a server's platforms: sessions, ports, units, time
    Status(live::status::Args),
    /// Show what a served platform's driver and device wait for
    Where(attach::whereabouts::Args),
    /// Show the counters of a served platform
    Stats(live::stats::Args),
    /// Show the register map, or a served platform's register values
    Regs(regs::Args),
    /// Show bytes of a served platform's memory
    Peek(live::memory::Args),
    /// Write a register, or bytes of memory, of a served platform
    Poke(live::poke::Args),
    /// Run a recording again, and check that nothing differs
    ///
    /// Takes the CPU's accesses and all other inputs from the recording, and compares the platform's outputs and event hash with it.
    Replay(replay::Args),
    /// Show the first difference of two recordings or register logs
    Diff(diff::Args),
    /// Show, compare, convert loadables; write their register traces
    Loadable(loadable::Args),
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one in a program")]
pub(super) enum StudyCommand {
    /// Sweep platforms, memories and networks, and write a report
    Study(study::Args),
    /// Replay requests in a memory alone, or draw its latency curve
    Memory(memory::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum RtlCommand {
    /// Find the first transaction in which RTL and model differ
    ///
    /// Runs traces twice: with a part of the platform in another program, such as a simulator of its RTL, and with the model.
    Compare(compare::Args),
    /// Compare the model's cycles and memory traffic with measured RTL
    CompareRtl(compare_rtl::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum ConformanceCommand {
    /// Check another program against the rules of a protocol
    ///
    /// Connects to the program as its peer, and lists each rule as kept or broken.
    CheckPeer(check_peer::Args),
}

#[derive(Debug, Subcommand)]
pub(super) enum ShellCommand {
    /// Print a shell's completion script for commands and options
    Completions(shell::CompletionsArgs),
    /// Write the manual pages to a folder
    Man(shell::ManArgs),
}

impl Command {
    pub(super) fn main(&self) -> Result<Verdict, Failure> {
        match self {
            Command::Run(command) => match command {
                RunCommand::Demo(args) => demo::main(args),
                RunCommand::Run(args) => run::main(args),
                RunCommand::Plan(args) => plan::main(args),
                RunCommand::Compile(args) => compile::main(args),
                RunCommand::Platform(args) => platform::main(args),
            },
            Command::Serve(command) => match command {
                ServeCommand::Serve(args) => serve::main(args),
                ServeCommand::Attach(args) => attach::main(args),
                ServeCommand::AttachDevice(args) => attach_device::main(args),
                ServeCommand::Save(args) => save::main(args),
                #[cfg(target_os = "linux")]
                ServeCommand::Qemu(args) => qemu::main(args),
                ServeCommand::Renode(args) => renode::main(args),
            },
            Command::Look(command) => match command {
                LookCommand::Status(args) => live::status::main(args),
                LookCommand::Where(args) => attach::whereabouts::main(args),
                LookCommand::Stats(args) => live::stats::main(args),
                LookCommand::Regs(args) => regs::main(args),
                LookCommand::Peek(args) => live::memory::main(args),
                LookCommand::Poke(args) => live::poke::main(args),
                LookCommand::Replay(args) => replay::main(args),
                LookCommand::Diff(args) => diff::main(args).map_err(Failure::of_comparison),
                LookCommand::Loadable(args) => loadable::main(args),
            },
            Command::Study(command) => match command {
                StudyCommand::Study(args) => study::main(args),
                StudyCommand::Memory(args) => memory::main(args),
            },
            Command::Rtl(command) => match command {
                RtlCommand::Compare(args) => compare::main(args),
                RtlCommand::CompareRtl(args) => compare_rtl::main(args),
            }
            .map_err(Failure::of_comparison),
            Command::Conformance(ConformanceCommand::CheckPeer(args)) => check_peer::main(args),
            Command::Shell(command) => match command {
                ShellCommand::Completions(args) => shell::completions(args),
                ShellCommand::Man(args) => shell::man(args),
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
        let long: Vec<&str> =
            commands.lines().filter(|line| line.starts_with("  ") && line.len() > 80).collect();
        assert!(long.is_empty(), "{long:#?}");
    }
}
