//! `sluice check`: what is wrong with manifests, before anything is deployed.

use std::io::{IsTerminal as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use sluice_api::yaml;
use sluice_dryrun::{Definitions, Finding, Severity, check};

use crate::files::below;
use crate::print::{put, say};
use crate::table::{self, Output, Table};

/// Arguments of `sluice check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 nothing is wrong (there may be warnings), 1 there are errors, 2 a file cannot be read.

Examples:
  sluice check trigger.yaml
  sluice check -o table manifests/
  sluice check -o json manifests/ | jq -r .reason"
)]
pub struct Args {
    /// Files, or folders with .yaml, .yml and .json files.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Format.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Leave the header of a table out.
    #[arg(long)]
    no_headers: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// `file:line: error: object: field: reason`, as compilers print.
    Text,
    Table,
    /// With more columns.
    Wide,
    /// One JSON object a line.
    Json,
    /// One YAML document for each.
    Yaml,
}

/// A finding and where it is.
#[derive(Debug, Serialize)]
struct Placed {
    file: String,
    line: Option<u64>,
    /// Of the file, from 1.
    document: usize,
    #[serde(flatten)]
    finding: Finding,
}

/// Prints findings as they come, or at the end as a table.
struct Printer {
    /// None for words.
    output: Option<Output>,
    table: Table,
}

// === impl Args ===

impl Args {
    /// Prints the findings. 0: no errors; 1: errors; 2: a file cannot be read.
    pub(crate) fn run(self) -> ExitCode {
        let (mut objects, mut errors, mut warnings, mut unreadable) = (0, 0, 0, 0);
        let mut printer = Printer::new(self.output());
        let files: Vec<PathBuf> = self.paths.iter().flat_map(|path| manifests(path)).collect();
        let definitions = definitions(&files);
        for file in files {
            match read(&file, &definitions) {
                Ok((count, findings)) => {
                    objects += count;
                    for placed in findings {
                        *(if placed.finding.severity == Severity::Error {
                            &mut errors
                        } else {
                            &mut warnings
                        }) += 1;
                        printer.print(placed);
                    }
                }
                Err(error) => {
                    eprintln!("sluice check: {}: {error}", file.display());
                    unreadable += 1;
                }
            }
        }
        printer.end();
        eprintln!("objects: {objects}, errors: {errors}, warnings: {warnings}");
        ExitCode::from(if unreadable > 0 { 2 } else { u8::from(errors > 0) })
    }

    /// None for words.
    fn output(&self) -> Option<Output> {
        let output = match self.output {
            Format::Text => return None,
            Format::Table => table::Format::Table,
            Format::Wide => table::Format::Wide,
            Format::Json => table::Format::Json,
            Format::Yaml => table::Format::Yaml,
        };
        Some(Output { output, no_headers: self.no_headers })
    }
}

// === impl Printer ===

impl Printer {
    fn new(output: Option<Output>) -> Self {
        let mut header = vec!["FILE", "LINE", "SEVERITY", "OBJECT", "FIELD", "REASON"];
        if output.is_some_and(Output::is_wide) {
            header.insert(1, "DOCUMENT");
        }
        Self { output, table: Table::new(&header, output.is_some_and(|output| output.no_headers)) }
    }

    fn print(&mut self, placed: Placed) {
        let Some(output) = self.output else { return placed.say() };
        match output.data(&placed) {
            Ok(None) => self.table.add(placed.cells(output.is_wide())),
            Ok(Some(data)) => put!("{data}"),
            Err(error) => eprintln!("sluice check: {}: {error}", placed.file),
        }
    }

    /// What was kept for the end.
    fn end(self) {
        let is_table = |output: Output| matches!(output.output, table::Format::Table | table::Format::Wide);
        if self.output.is_some_and(is_table) {
            put!("{}", self.table);
        }
    }
}

// === impl Placed ===

impl Placed {
    /// As compilers print.
    fn say(&self) {
        let Self { file, line, finding: Finding { severity, object, field, reason }, .. } = self;
        let place = line.map(|line| format!(":{line}")).unwrap_or_default();
        let (word, colour) = (word(*severity), if *severity == Severity::Error { "31" } else { "33" });
        let word =
            if stdout().is_terminal() { format!("\u{1b}[{colour}m{word}\u{1b}[0m") } else { word.to_owned() };
        let field = if field.is_empty() { String::new() } else { format!("{field}: ") };
        say!("{file}{place}: {word}: {object}: {field}{reason}");
    }

    /// Wide, also which document of the file it is.
    fn cells(self, wide: bool) -> Vec<String> {
        let Self { file, line, document, finding: Finding { severity, object, field, reason } } = self;
        let line = line.map(|line| line.to_string()).unwrap_or_default();
        let document = wide.then(|| document.to_string());
        let rest = [line, word(severity).to_owned(), object, field, reason];
        [file].into_iter().chain(document).chain(rest).collect()
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The kinds that some of the files define. What cannot be read is told when it is looked at.
fn definitions(files: &[PathBuf]) -> Definitions {
    let defines = |text: &String| text.contains("CustomResourceDefinition");
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).filter(defines);
    let objects: Vec<_> = texts.filter_map(|text| yaml::documents(&text).ok()).flatten().collect();
    Definitions::among(&objects)
}

/// How many objects there are in a file, and what is wrong with them.
fn read(file: &Path, definitions: &Definitions) -> Result<(usize, Vec<Placed>), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let objects = yaml::located(&text).map_err(|error| error.to_string())?;
    let mut placed = Vec::new();
    for (index, (object, lines)) in objects.iter().enumerate() {
        for finding in check(object, definitions) {
            let line = lines.of(&finding.field);
            placed.push(Placed { file: file.display().to_string(), line, document: index + 1, finding });
        }
    }
    Ok((objects.len(), placed))
}

/// A file, or those of a folder that may hold manifests. Charts hold none, and what `sluice build` takes them from neither.
pub(crate) fn manifests(path: &Path) -> Vec<PathBuf> {
    let files = below(path);
    let is_of_charts = |file: &&PathBuf| file.ends_with("Chart.yaml") || file.ends_with("sources.yaml");
    let charts: Vec<PathBuf> =
        files.iter().filter(is_of_charts).filter_map(|file| Some(file.parent()?.into())).collect();
    let may = |file: &PathBuf| {
        let is_manifest =
            matches!(file.extension().and_then(|end| end.to_str()), Some("yaml" | "yml" | "json"));
        file == path || (is_manifest && !charts.iter().any(|chart| file.starts_with(chart)))
    };
    files.into_iter().filter(may).collect()
}
