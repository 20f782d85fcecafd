//! `sluice build`: a pure function of manifests and objects, by the same cores that run in production.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use sluice_dryrun::{Input, Options, build_with};
use sluice_tera::Workers;

/// Arguments of `sluice build`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Management manifests, with the objects of managed clusters under `clusters/<namespace>/<name>/`.
    dir: PathBuf,
    /// Format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Yaml,
    Json,
}

impl Args {
    /// Prints the result. 0: all well; 1: there are problems; 2: the input cannot be read.
    pub(crate) fn run(self) -> ExitCode {
        let input = match Input::read(&self.dir) {
            Ok(input) => input,
            Err(error) => {
                eprintln!("sluice build: {error}");
                return ExitCode::from(2);
            }
        };
        let output = build_with(&input, &Options { tera: Arc::new(Workers::new()), ..Options::default() });
        let text = match self.output {
            Format::Json => output.to_json(),
            Format::Yaml => output.to_yaml(),
        };
        println!("{}", text.trim_end());
        if output.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
    }
}
