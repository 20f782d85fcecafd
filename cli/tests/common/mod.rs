//! Running `sluice` as people do.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

/// Exit code, standard output and standard error of a command in a folder.
pub fn sluice(command: &str, arguments: &[&str], dir: &Path) -> (Option<i32>, String, String) {
    let mut sluice = Command::new(env!("CARGO_BIN_EXE_sluice"));
    let Output { status, stdout, stderr } =
        sluice.arg(command).args(arguments).current_dir(dir).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}
