//! `sluice eval`: what EventSources say of objects, by the matcher's own core.
//!
//! ```text
//! sluice eval DIR                every folder with an eventsource.yaml: does matching.yaml match, and non-matching.yaml not?
//! sluice eval -f FILE OBJECT…    what the EventSources of FILE say of each object, one JSON object a line
//! ```
//!
//! With `-o` both print tables, JSON or YAML.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;
use sluice_api::object;
use sluice_dryrun::{Evaluation, Evaluator, objects};

use crate::files::below;
use crate::print::{put, say};
use crate::table::{Format, Output, Table};

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
  sluice eval events/ -o json | jq -r 'select(.verdict != \"ok\") | .folder'
  sluice eval -f eventsource.yaml service.yaml -o table"
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
    /// Format. Without it words for folders, and with -f one JSON object a line.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// Leave the header of a table out.
    #[arg(long)]
    no_headers: bool,
}

/// What is said of one folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Folder {
    folder: String,
    /// `ok` or `FAIL`.
    verdict: &'static str,
    /// What is not as it should be.
    wrong: Vec<String>,
}

/// Prints answers as they come, or at the end as a table.
struct Printer {
    output: Output,
    table: Table,
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
            (Some(file), paths) => each_object(file, paths, self.output(Format::Json)),
            (None, [dir]) => walk(dir, self.output.map(|output| self.output(output))),
            (None, _) => Err("one folder, or -f EVENTSOURCE and files with objects".to_owned()),
        };
        done.unwrap_or_else(|error| {
            eprintln!("sluice eval: {error}");
            End::Unreadable
        })
    }

    fn output(&self, otherwise: Format) -> Output {
        Output { output: self.output.unwrap_or(otherwise), no_headers: self.no_headers }
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

// === impl Printer ===

impl Printer {
    fn new(output: Output, header: &[&'static str]) -> Self {
        Self { output, table: Table::new(header, output.no_headers) }
    }

    fn add<const N: usize>(&mut self, answer: &impl Serialize, row: [String; N]) -> Result<(), String> {
        match self.output.data(answer).map_err(|error| error.to_string())? {
            Some(data) => put!("{data}"),
            None => self.table.add(row),
        }
        Ok(())
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        if matches!(self.output.output, Format::Table | Format::Wide) {
            put!("{}", self.table);
        }
    }
}

/// What the EventSources of a file say of each object.
fn each_object(file: &Path, paths: &[PathBuf], output: Output) -> Result<End, String> {
    let manifests = objects(file).map_err(|error| error.to_string())?;
    let evaluators = sources_in(&manifests).map(Evaluator::new).collect::<Result<Vec<_>, _>>();
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
    let mut together = Vec::new();
    for path in paths {
        together.extend(objects(path).map_err(|error| error.to_string())?);
    }
    let mut end = End::Well;
    let mut printer = Printer::new(output, &["OBJECT", "MATCHING", "MESSAGE", "ERROR"]);
    for evaluation in evaluators.iter().flat_map(|evaluator| evaluator.evaluate(&together)) {
        printer.add(&evaluation, row_of(&evaluation))?;
        end = end.max(if evaluation.error.is_some() { End::Failed } else { End::Well });
    }
    Ok(end)
}

/// Without a verdict nothing is said of whether it matches.
fn row_of(evaluation: &Evaluation) -> [String; 4] {
    let Evaluation { object, matching, message, error } = evaluation.clone();
    let matching = if error.is_some() {
        ""
    } else if matching {
        "yes"
    } else {
        "no"
    };
    [object, matching.to_owned(), message, error.unwrap_or_default()]
}

/// Every folder that has an EventSource, with what is wrong in it.
fn walk(dir: &Path, output: Option<Output>) -> Result<End, String> {
    let sources: Vec<PathBuf> =
        below(dir).into_iter().filter(|file| file.file_name().is_some_and(|name| name == SOURCE)).collect();
    if sources.is_empty() {
        return Err(format!("{}: there is no {SOURCE} in it or below it", dir.display()));
    }
    let mut end = End::Well;
    let mut printer = output.map(|output| Printer::new(output, &["FOLDER", "VERDICT", "WRONG"]));
    for source in sources {
        let folder = source.parent().unwrap_or(dir);
        let (result, wrong) = folder_of(folder);
        let verdict = if wrong.is_empty() { "ok" } else { "FAIL" };
        let folder = Folder { folder: folder.display().to_string(), verdict, wrong };
        match &mut printer {
            Some(printer) => {
                let row = [folder.folder.clone(), verdict.to_owned(), folder.wrong.join("; ")];
                printer.add(&folder, row)?;
            }
            None => folder.say(),
        }
        end = end.max(result);
    }
    Ok(end)
}

impl Folder {
    /// In words.
    fn say(&self) {
        say!("{:<4} {}", self.verdict, self.folder);
        self.wrong.iter().for_each(|line| say!("     {line}"));
    }
}

/// Holds the objects of a folder, all together, against its EventSource; returns what is wrong. What a script makes of them and no
/// file names is not looked at.
fn folder_of(folder: &Path) -> (End, Vec<String>) {
    let read = |name: &str| objects(&folder.join(name)).map_err(|error| error.to_string());
    let evaluator = match read(SOURCE).map(|manifests| single(&manifests)) {
        Ok(Ok(evaluator)) => evaluator,
        Ok(Err(error)) => return (End::Failed, vec![format!("{SOURCE}: {error}")]),
        Err(error) => return (End::Unreadable, vec![error]),
    };
    let (mut end, mut wrong) = (End::Well, Vec::new());
    let (mut together, mut files) = (Vec::new(), Vec::new());
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
                files.extend(objects.iter().map(|_| (name, wanted)));
                together.extend(objects);
            }
        }
    }
    let verdicts = evaluator.evaluate(&together);
    let complaints = verdicts.iter().zip(files).filter_map(|(verdict, (name, wanted))| {
        complaint(verdict, wanted).map(|text| format!("{name}: {text}"))
    });
    wrong.extend(complaints);
    let failed = if wrong.is_empty() { End::Well } else { End::Failed };
    (end.max(failed), wrong)
}

/// The EventSource of a file, which may hold what belongs to it besides: triggers, content.
fn single(manifests: &[Value]) -> Result<Evaluator, String> {
    match sources_in(manifests).collect::<Vec<_>>()[..] {
        [manifest] => Evaluator::new(manifest).map_err(|error| error.to_string()),
        [] => Err("it holds no EventSource; write one".to_owned()),
        ref several => Err(format!("it holds {} EventSources; write one", several.len())),
    }
}

fn sources_in(manifests: &[Value]) -> impl Iterator<Item = &Value> {
    manifests.iter().filter(|manifest| object::text(manifest, &["kind"]) == "EventSource")
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
