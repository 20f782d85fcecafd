//! What the definitions of the commands are good for besides reading arguments: completion, man pages, `docs/cli.md`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Command, CommandFactory as _};

use crate::print::put;

/// Arguments of `sluice completion`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice completion bash > /etc/bash_completion.d/sluice
  sluice completion zsh > ~/.zfunc/_sluice")]
pub(crate) struct Completion {
    /// For which shell.
    shell: clap_complete::Shell,
}

/// Arguments of `sluice man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice man man/
  sluice man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Folder for a page of each command, and of each stage; it is made.
    dir: PathBuf,
}

impl Completion {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Args::command(), "sluice", &mut script);
        put!("{}", String::from_utf8_lossy(&script));
        Ok(())
    }
}

impl Man {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.dir).with_context(|| format!("making {}", self.dir.display()))?;
        let mut programs = programs().into_iter();
        let pages = programs.try_for_each(|program| clap_mangen::generate_to(program, &self.dir));
        pages.with_context(|| format!("writing man pages to {}", self.dir.display()))
    }
}

/// What a package installs: this program and the stages.
fn programs() -> [Command; 5] {
    [
        crate::Args::command(),
        sluice_agent::Args::command(),
        sluice_matcher::Args::command(),
        sluice_renderer::Args::command(),
        sluice_deployer::Args::command(),
    ]
    .map(without_values)
}

/// The reference of all commands, as `docs/cli.md` has it.
pub(crate) fn reference() -> String {
    let mut command = without_values(crate::Args::command().term_width(0).disable_help_subcommand(true));
    command.build();
    let mut text = String::from(
        "# Commands\n\nWhat `--help` says of each. This file is printed by `sluice reference`; a test compares it.\n\n\
         Commands for people find a `sluice up` that runs in this folder by themselves.\n\n\
         As `kubectl sluice`: put a link to the program, or a copy, under the name `kubectl-sluice` into a folder of your `PATH`;\n\
         the container image has it. Help says `kubectl sluice` then. kubectl hands on what stands behind the name, and nothing\n\
         before it: write `kubectl sluice show addons --kubeconfig FILE`.\n",
    );
    command.get_subcommands().for_each(|inner| section(inner, &mut text));
    text
}

/// What this process has in its environment is nobody's business.
fn without_values(command: Command) -> Command {
    command.mut_args(|argument| argument.hide_env_values(true)).mut_subcommands(without_values)
}

/// One command that does something, or all of those in it.
fn section(command: &Command, text: &mut String) {
    if command.is_hide_set() {
        return;
    }
    if command.get_subcommands().next().is_some() {
        return command.get_subcommands().for_each(|inner| section(inner, text));
    }
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let help = command.clone().render_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    text.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end()));
}

/// Prints the reference.
pub(crate) fn print() -> anyhow::Result<()> {
    put!("{}", reference());
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::*;

    #[test]
    fn the_reference_is_what_is_printed() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
        let text = std::fs::read_to_string(kept).unwrap();
        assert!(
            text == reference(),
            "docs/cli.md differs from what is printed: sluice reference > docs/cli.md"
        );
    }

    #[test]
    fn there_is_a_page_for_each_command() {
        let dir = tempfile::tempdir().unwrap();
        Man { dir: dir.path().join("man") }.run().unwrap();
        let page = std::fs::read_to_string(dir.path().join("man/sluice-explain-trigger.1")).unwrap();
        assert!(page.contains("network\\-policies"), "{page}");
        for stage in ["agent", "matcher", "renderer", "deployer"] {
            let page = std::fs::read_to_string(dir.path().join(format!("man/sluice-{stage}.1"))).unwrap();
            assert!(page.contains("nats\\-url"), "{page}");
        }
    }
}
