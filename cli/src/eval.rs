//! `sluice eval`: what EventSources say of objects, by the matcher's own core.
//!
//! ```text
//! sluice eval DIR                every folder with an eventsource.yaml: does matching.yaml match, and non-matching.yaml not?
//! sluice eval -f FILE OBJECT…    what the EventSources of FILE say of each object, one JSON object a line
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sluice_dryrun::{Evaluation, Evaluator, objects};

use crate::files::below;

/// How often `--watch` looks at the files.
const LOOK: Duration = Duration::from_millis(300);
/// Names of the files of a folder.
const SOURCE: &str = "eventsource.yaml";
const MATCHING: &str = "matching.yaml";
const NON_MATCHING: &str = "non-matching.yaml";

/// Arguments of `sluice eval`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 all is as it should be, 1 a verdict is wrong or a script fails, 2 a file cannot be read.

Examples:
  sluice eval events/
  sluice eval -f eventsource.yaml service.yaml"
)]
pub struct Args {
    /// The folder to walk through; with -f the files with objects.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// A file with EventSources.
    #[arg(short, long = "file", value_name = "EVENTSOURCE")]
    file: Option<PathBuf>,
    /// Run again whenever a file changes.
    #[arg(short, long)]
    watch: bool,
}

/// How a run ended, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Well,
    Failed,
    Unreadable,
}

// === impl Args ===

impl Args {
    /// Prints the verdicts. 0: all as they should be; 1: some are not, or a script fails; 2: the input cannot be read.
    pub(crate) fn run(self) -> ExitCode {
        if self.watch {
            return crate::blocking(self.again_and_again());
        }
        match self.once() {
            End::Well => ExitCode::SUCCESS,
            End::Failed => ExitCode::from(1),
            End::Unreadable => ExitCode::from(2),
        }
    }

    fn once(&self) -> End {
        let done = match (&self.file, &self.paths[..]) {
            (Some(file), paths) => each_object(file, paths),
            (None, [dir]) => walk(dir),
            (None, _) => Err("one folder, or -f EVENTSOURCE and files with objects".to_owned()),
        };
        done.unwrap_or_else(|error| {
            eprintln!("sluice eval: {error}");
            End::Unreadable
        })
    }

    /// Until the process is stopped.
    async fn again_and_again(&self) -> anyhow::Result<()> {
        let mut before = None;
        loop {
            let now = self.newest();
            if before != Some(now) {
                before = Some(now);
                self.once();
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// When one of the files changed last, and how many there are.
    fn newest(&self) -> (SystemTime, usize) {
        let mut files: Vec<PathBuf> = self.file.iter().cloned().collect();
        self.paths.iter().for_each(|path| files.extend(below(path)));
        let changed = |file: &PathBuf| file.metadata().and_then(|data| data.modified()).ok();
        (files.iter().filter_map(changed).max().unwrap_or(SystemTime::UNIX_EPOCH), files.len())
    }
}

/// What the EventSources of a file say of each object.
fn each_object(file: &Path, paths: &[PathBuf]) -> Result<End, String> {
    let evaluators = objects(file).map_err(|error| error.to_string())?;
    let evaluators = evaluators.iter().map(Evaluator::new).collect::<Result<Vec<_>, _>>();
    let evaluators = match evaluators {
        Ok(evaluators) if evaluators.is_empty() => {
            return Err(format!("{}: holds no EventSource", file.display()));
        }
        Ok(evaluators) => evaluators,
        Err(error) => {
            eprintln!("sluice eval: {}: {error}", file.display());
            return Ok(End::Failed);
        }
    };
    let mut end = End::Well;
    for path in paths {
        for object in objects(path).map_err(|error| error.to_string())? {
            for evaluator in &evaluators {
                let evaluation = evaluator.evaluate(&object);
                println!("{}", serde_json::to_string(&evaluation).map_err(|error| error.to_string())?);
                end = end.max(if evaluation.error.is_some() { End::Failed } else { End::Well });
            }
        }
    }
    Ok(end)
}

/// Every folder that has an EventSource, with what is wrong in it.
fn walk(dir: &Path) -> Result<End, String> {
    let sources: Vec<PathBuf> =
        below(dir).into_iter().filter(|file| file.file_name().is_some_and(|name| name == SOURCE)).collect();
    if sources.is_empty() {
        return Err(format!("{}: there is no {SOURCE} in it or below it", dir.display()));
    }
    let mut end = End::Well;
    for source in sources {
        let folder = source.parent().unwrap_or(dir);
        let (result, wrong) = folder_of(folder);
        let verdict = if wrong.is_empty() { "ok" } else { "FAIL" };
        println!("{verdict:<4} {}", folder.display());
        wrong.iter().for_each(|line| println!("     {line}"));
        end = end.max(result);
    }
    Ok(end)
}

/// Holds the objects of a folder against its EventSource; returns what is wrong.
fn folder_of(folder: &Path) -> (End, Vec<String>) {
    let read = |name: &str| objects(&folder.join(name)).map_err(|error| error.to_string());
    let evaluator = match read(SOURCE).map(|manifests| single(&manifests)) {
        Ok(Ok(evaluator)) => evaluator,
        Ok(Err(error)) => return (End::Failed, vec![format!("{SOURCE}: {error}")]),
        Err(error) => return (End::Unreadable, vec![error]),
    };
    let (mut end, mut wrong) = (End::Well, Vec::new());
    for (name, wanted) in [(MATCHING, true), (NON_MATCHING, false)] {
        if !folder.join(name).exists() {
            continue;
        }
        match read(name) {
            Err(error) => {
                end = End::Unreadable;
                wrong.push(error);
            }
            Ok(objects) => {
                let verdicts = objects.iter().map(|object| evaluator.evaluate(object));
                wrong.extend(
                    verdicts
                        .filter_map(|verdict| complaint(&verdict, wanted))
                        .map(|text| format!("{name}: {text}")),
                );
            }
        }
    }
    let failed = if wrong.is_empty() { End::Well } else { End::Failed };
    (end.max(failed), wrong)
}

fn single(manifests: &[Value]) -> Result<Evaluator, String> {
    match manifests {
        [manifest] => Evaluator::new(manifest),
        _ => Err(format!("it holds {} objects; write one EventSource", manifests.len())),
    }
}

/// What is wrong with a verdict that should be `wanted`.
fn complaint(evaluation: &Evaluation, wanted: bool) -> Option<String> {
    let Evaluation { object, matching, message, error } = evaluation;
    if let Some(error) = error {
        return Some(format!("{object}: {error}"));
    }
    let said = if message.is_empty() { String::new() } else { format!(": {message}") };
    match (matching, wanted) {
        (true, false) => Some(format!("{object} is an event, and should not be{said}")),
        (false, true) => Some(format!("{object} is no event, and should be{said}")),
        _ => None,
    }
}
