//! `sluice`: dry runs, the whole pipeline on one machine, and looking at a running one.

use clap::Parser as _;

fn main() -> std::process::ExitCode {
    sluice_tera::serve_if_asked();
    sluice_cli::Args::parse().run()
}
