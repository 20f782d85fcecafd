//! `sluice`: dry runs, the whole pipeline on one machine, and looking at a running one.

use clap::Parser as _;

fn main() -> std::process::ExitCode {
    sluice_cli::Args::parse().run()
}
