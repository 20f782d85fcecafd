//! The command line.
//!
//! ```text
//! sluice build DIR    what would exist where: the cores of the stages in sequence, no server
//! sluice diff DIR     what manifests would change in which cluster
//! sluice eval         which objects EventSources match, and why
//! sluice check        what is wrong with manifests
//! sluice template     what a Helm chart renders to, as `helm template` prints it
//! sluice up           bus, simulated clusters and all four stages in one process
//! sluice seed         CRDs, registrations and examples into a management cluster
//! sluice send         CloudEvents to a cluster
//! sluice show         what is deployed where; triggers, profiles and clusters; events, what is used, objects
//! sluice register     a cluster; deregister takes it away
//! sluice suspend      a trigger, profile or cluster; resume goes on
//! sluice approve      what waits until somebody says so
//! sluice redeploy     what is deployed to a cluster, or by a profile or trigger, once more
//! sluice rollout      how far a rollout is; approving, stopping and resuming it
//! sluice problems     what cannot be done, and why
//! sluice status       bus, stages, clusters and problems on one screen
//! sluice shards       who works on what
//! sluice events       what happens now
//! sluice inspect      serves these answers to people and programs without a credential of the bus
//! sluice explain      why something is deployed or an event, or why not
//! sluice trace        how an add-on came to be
//! sluice bus          what the bus is like, and giving it more replicas
//! sluice nats users   who may do what on the bus, as configuration of its servers
//! sluice import       what of a running Sveltos works here as it is
//! sluice bundle       what a bug report needs, in one archive
//! sluice install      what an installation needs, and whether it is there
//! ```

#![forbid(unsafe_code)]
// A failed write must not panic: see `print`.
#![deny(clippy::print_stdout)]

mod answers;
mod approve;
pub mod build;
mod bundle;
mod bus;
mod check;
mod diff;
mod eval;
mod events;
mod explain;
mod fetch;
mod files;
mod import;
mod inspect;
mod install;
mod maker;
mod name;
mod nats;
mod original;
mod otlp;
mod patched;
mod print;
mod problems;
mod reach;
mod redeploy;
mod reference;
mod register;
mod rollout;
mod seed;
mod send;
mod shards;
mod show;
mod status;
mod suspend;
mod table;
mod template;
mod trace;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use sluice_runtime::LogFormat;

/// Event-driven add-on distribution for fleets of Kubernetes clusters.
#[derive(Debug, clap::Parser)]
#[command(name = "sluice", version)]
pub struct Args {
    #[command(flatten)]
    _unneeded: Unneeded,
    #[command(subcommand)]
    command: Command,
}

/// Where bus, management cluster and server are, for commands that do not ask them: who writes one line for all commands need not
/// know which of them asks whom. Commands that do ask have these of their own.
#[derive(Debug, clap::Args)]
struct Unneeded {
    #[arg(long, global = true, hide = true, value_name = "URL")]
    nats_url: Option<String>,
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[arg(long, global = true, hide = true, value_name = "URL")]
    server: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print what would exist where, from manifests and objects in a directory.
    Build(build::Args),
    /// Print what is wrong with manifests: fields, selectors, Lua, templates.
    Check(check::Args),
    /// Print what manifests would change in which cluster.
    Diff(diff::Args),
    /// Print which objects EventSources match: test events before they are used.
    Eval(eval::Args),
    /// Print what a Helm chart renders to.
    Template(template::Args),
    /// Run everything on this machine.
    Up(Box<up::Args>),
    /// Prepare a management cluster: CRDs, registered clusters, examples.
    Seed(seed::Args),
    /// Send CloudEvents to a cluster.
    Send(send::Args),
    /// Print what is deployed.
    Show(show::Args),
    /// Register a cluster.
    Register(register::Register),
    /// Take the registration of a cluster away.
    Deregister(register::Deregister),
    /// Leave what a trigger or profile deploys, or a cluster, as it is until it is resumed.
    Suspend(suspend::Args),
    /// Go on with what was suspended.
    Resume(suspend::Args),
    /// Let go on what waits until somebody says so.
    Approve(approve::Args),
    /// Apply what is deployed once more, also where nothing differs.
    Redeploy(redeploy::Args),
    /// Look at what goes to few clusters at a time, and go on with it, or not.
    Rollout(rollout::Args),
    /// Print what cannot be done.
    Problems(problems::Args),
    /// Print bus, stages, clusters and problems on one screen; exit code 1 when something is wrong.
    Status(status::Args),
    /// Print who works on what.
    Shards(shards::Args),
    /// Serve answers over gRPC: what is deployed, why, what happens, what cannot be done.
    Inspect(Box<inspect::Args>),
    /// Print what happens, as it happens.
    Events(events::Args),
    /// Print why something is deployed in a cluster, or is an event there, or why not.
    Explain(explain::Args),
    /// Print how an add-on came to be: the change, the report, the rendered row, what became of it.
    Trace(trace::Args),
    /// Look at the bus, or change it.
    Bus(bus::Args),
    /// Print configuration of nats-servers.
    Nats(nats::Args),
    /// Print what of a running Sveltos, or of its manifests, works here as it is.
    Import(import::Args),
    /// Collect what a bug report needs.
    Bundle(bundle::Args),
    /// Prepare an installation in Kubernetes.
    Install(install::Args),
    /// Print what completes the commands of this program in a shell.
    Completion(reference::Completion),
    /// Write man pages.
    Man(reference::Man),
    /// Print the reference of all commands.
    #[command(hide = true)]
    Reference,
}

impl Args {
    /// The arguments of this process, under the name by which it was started. Ends the process where they are wrong.
    pub fn of_process() -> Self {
        let arguments: Vec<_> = std::env::args_os().collect();
        let command = name::under(&arguments, Self::command());
        Self::from_arg_matches(&command.get_matches_from(arguments)).unwrap_or_else(|error| error.exit())
    }

    /// Runs the command; the exit code follows its documentation.
    pub fn run(self) -> ExitCode {
        let code = self.command.run();
        match print::fault() {
            Some(error) => {
                eprintln!("sluice: the output cannot be written: {error}");
                ExitCode::FAILURE
            }
            None => code,
        }
    }
}

impl Command {
    fn run(self) -> ExitCode {
        match self {
            Command::Build(args) => args.run(),
            Command::Check(args) => args.run(),
            Command::Diff(args) => args.run(),
            Command::Eval(args) => args.run(),
            Command::Template(args) => args.run(),
            Command::Up(args) => logging(args.log_format(), args.run()),
            Command::Seed(args) => blocking(args.run()),
            Command::Send(args) => blocking(args.run()),
            Command::Show(args) => blocking(args.run()),
            Command::Register(args) => blocking(args.run()),
            Command::Deregister(args) => blocking(args.run()),
            Command::Suspend(args) => blocking(args.run(true)),
            Command::Resume(args) => blocking(args.run(false)),
            Command::Approve(args) => blocking(args.run()),
            Command::Redeploy(args) => blocking(args.run()),
            Command::Rollout(args) => blocking(args.run()),
            Command::Problems(args) => blocking(args.run()),
            Command::Status(args) => blocking(args.run()),
            Command::Shards(args) => blocking(args.run()),
            Command::Inspect(args) => logging(args.log_format(), args.run()),
            Command::Events(args) => blocking(args.run()),
            Command::Explain(args) => args.run(),
            Command::Trace(args) => blocking(args.run()),
            Command::Bus(args) => blocking(args.run()),
            Command::Nats(args) => blocking(args.run()),
            Command::Import(args) => args.run(),
            Command::Bundle(args) => blocking(args.run()),
            Command::Install(args) => blocking(args.run()),
            Command::Completion(args) => blocking(async { args.run() }),
            Command::Man(args) => blocking(async { args.run() }),
            Command::Reference => blocking(async { reference::print() }),
        }
    }
}

fn blocking(work: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    logging(LogFormat::Text, work)
}

fn logging(format: LogFormat, work: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let result = sluice_runtime::install_logs(format)
        .and_then(|()| Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?))
        .and_then(|runtime| runtime.block_on(work));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sluice: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_of_all_commands_are_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_takes_the_flags_of_connections() {
        fn leaves(command: &clap::Command, path: Vec<String>, found: &mut Vec<Vec<String>>) {
            if command.get_subcommands().next().is_none() {
                found.push(path);
                return;
            }
            for inner in command.get_subcommands() {
                let path = path.iter().cloned().chain([inner.get_name().to_owned()]).collect();
                leaves(inner, path, found);
            }
        }
        let mut all = Vec::new();
        leaves(&Args::command(), vec!["sluice".to_owned()], &mut all);
        for path in all {
            let flags =
                ["--nats-url", "nats://127.0.0.1:1", "--kubeconfig", "k", "--server", "http://127.0.0.1:1"];
            let words = path.iter().map(String::as_str).chain(flags);
            let error = Args::command().try_get_matches_from(words).err();
            let is_about_flags =
                |error: &clap::Error| error.kind() == clap::error::ErrorKind::UnknownArgument;
            assert!(!error.as_ref().is_some_and(is_about_flags), "{path:?}: {error:?}");
        }
    }

    /// Every command for people says what it is for, and how it is used.
    #[test]
    fn every_command_has_a_text_and_its_help_shows_two_examples() {
        fn look(command: &clap::Command, path: &str, bare: &mut Vec<String>) {
            let path = format!("{path} {}", command.get_name());
            assert!(command.get_about().is_some(), "{path} has no text");
            if command.is_hide_set() {
                return;
            }
            if command.get_subcommands().next().is_none() {
                let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                if examples.matches("\n  sluice ").count() < 2 {
                    bare.push(path);
                }
                return;
            }
            command.get_subcommands().for_each(|inner| look(inner, &path, bare));
        }
        let mut bare = Vec::new();
        Args::command().get_subcommands().for_each(|command| look(command, "sluice", &mut bare));
        assert!(bare.is_empty(), "{bare:#?}");
    }
}
