//! `sluice build`: a pure function of manifests and objects, by the same cores that run in production.

use std::io::{BufWriter, Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use sluice_dryrun::{Input, Options, make};
use sluice_runtime::OnboardArgs;
use sluice_tera::Workers;

use crate::fetch::Fetching;

/// Arguments of `sluice build`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice build manifests/
  sluice build manifests/ -o json | jq '.clusters'
  sluice build manifests/ --fetch --chart-cache ~/.cache/sluice

Exit code: 0 all is well, 1 there are problems, 2 the input cannot be read.")]
pub struct Args {
    /// Management manifests, with the objects of managed clusters under `clusters/<namespace>/<name>/`.
    dir: PathBuf,
    #[command(flatten)]
    fetching: Fetching,
    #[command(flatten)]
    onboarding: OnboardArgs,
    /// Format. In JSON each object also says why it exists.
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
        let repositories = match self.fetching.repositories() {
            Ok(repositories) => repositories,
            Err(error) => {
                eprintln!("sluice build: {error:#}");
                return ExitCode::from(2);
            }
        };
        let because = matches!(self.output, Format::Json);
        let tera = Arc::new(Workers::new());
        let onboarding = self.onboarding.capi_onboard_annotation;
        let options = Options { tera, repositories, because, onboarding, ..Options::default() };
        let made = make(input, &options);
        let mut out = BufWriter::new(stdout().lock());
        let written = match self.output {
            Format::Json => made.write_json(&mut out),
            Format::Yaml => made.write_yaml(&mut out),
        };
        if let Err(error) = written.and_then(|()| out.flush()) {
            eprintln!("sluice build: the result cannot be written: {error}");
            return ExitCode::from(2);
        }
        if made.is_well() { ExitCode::SUCCESS } else { ExitCode::from(1) }
    }
}
