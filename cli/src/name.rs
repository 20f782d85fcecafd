//! The name by which people call this program: `sluice`, or `kubectl sluice` where kubectl has found it as `kubectl-sluice`.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

/// The name of the file under which kubectl looks for the command `sluice`.
const PLUGIN: &str = "kubectl-sluice";
/// What people write then.
const BY_KUBECTL: &str = "kubectl sluice";

/// The commands, with help that says what has to be written: the first of the arguments is the file that was started.
pub(crate) fn under(arguments: &[OsString], command: Command) -> Command {
    let file = arguments.first().and_then(|file| Path::new(file).file_stem());
    if file.is_none_or(|file| file != PLUGIN) {
        return command;
    }
    examples(command.bin_name(BY_KUBECTL))
}

/// Writes the name into the examples of every command.
fn examples(command: Command) -> Command {
    let help = command.get_after_help().map(ToString::to_string);
    let command = match help {
        Some(help) => command.after_help(help.replace("\n  sluice ", &format!("\n  {BY_KUBECTL} "))),
        None => command,
    };
    command.mut_subcommands(examples)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::CommandFactory as _;

    use super::*;

    /// The help of `shards`, where the program is started as this file.
    fn help(file: &str) -> String {
        let arguments = [file, "shards", "--help"].map(OsString::from);
        let command = under(&arguments, crate::Args::command());
        command.try_get_matches_from(arguments).unwrap_err().to_string()
    }

    #[test]
    fn as_a_plugin_of_kubectl_it_says_so_in_its_help() {
        let help = help("/usr/local/bin/kubectl-sluice");
        assert!(help.contains("Usage: kubectl sluice shards "), "{help}");
        assert!(help.contains("\n  kubectl sluice shards --stage matcher\n"), "{help}");
        assert!(!help.contains("\n  sluice "), "{help}");
    }

    #[test]
    fn under_its_own_name_it_says_its_own_name() {
        let help = help("target/release/sluice");
        assert!(help.contains("Usage: sluice shards ") && help.contains("\n  sluice shards "), "{help}");
        assert!(!help.contains("kubectl sluice"), "{help}");
    }
}
