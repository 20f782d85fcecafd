//! Charts whose output official Helm has printed before: every document, in order, to the byte.
//!
//! `SLUICE_CHART_CASES` names another folder of cases. A case is a folder with `chart/` or `chart.tgz`, `case.json`,
//! `expected.yaml` or `expected_error.txt`, and maybe `values.yaml` and `expected_warnings.txt`; `SLUICE_CHART_OUTPUT` names a folder for what is printed; `scripts/chart-expected.sh` makes what is expected.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use common::{lines, plain_error, run_aloud};
use sluice_chart::Warnings;

/// What differs first.
fn check(folder: &Path) -> Result<(), String> {
    let mut warnings = Warnings::default();
    let got = run_aloud(folder, &mut warnings);
    if let Ok(wanted) = fs::read_to_string(folder.join("expected_warnings.txt"))
        && wanted.lines().ne(lines(&warnings))
    {
        return Err(format!("wanted the warnings\n{wanted}got\n{}", lines(&warnings).join("\n")));
    }
    if let Ok(wanted) = fs::read_to_string(folder.join("expected_error.txt")) {
        return match got {
            Err(error) if error.trim() == plain_error(&wanted) => Ok(()),
            Err(error) => Err(format!("wanted the error\n{}\ngot\n{error}", plain_error(&wanted))),
            Ok(_) => Err(format!("wanted the error\n{}\ngot none", plain_error(&wanted))),
        };
    }
    let wanted = fs::read_to_string(folder.join("expected.yaml")).map_err(|error| error.to_string())?;
    let got = got.map_err(|error| format!("failed: {error}"))?;
    if let (Some(folder_of_outputs), Some(name)) =
        (std::env::var_os("SLUICE_CHART_OUTPUT"), folder.file_name())
    {
        fs::write(Path::new(&folder_of_outputs).join(name), &got).map_err(|error| error.to_string())?;
    }
    if got == wanted {
        return Ok(());
    }
    let lines = wanted.lines().zip(got.lines()).enumerate().find(|(_, (wanted, got))| wanted != got);
    Err(match lines {
        Some((at, (wanted, got))) => format!("line {}\nwanted {wanted:?}\ngot    {got:?}", at + 1),
        None => format!("wanted {} bytes, got {}", wanted.len(), got.len()),
    })
}

#[test]
fn charts_are_rendered_as_helm_renders_them() {
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/charts"));
    let folder = std::env::var_os("SLUICE_CHART_CASES").map_or(own, PathBuf::from);
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.join("case.json").exists());
    cases.sort();
    let mut failed = 0;
    for case in &cases {
        // One that cannot even be read is a failure of its own, and the others are still counted.
        let checked = catch_unwind(AssertUnwindSafe(|| check(case)));
        if let Err(difference) = checked.unwrap_or_else(|_| Err("it panicked".to_owned())) {
            failed += 1;
            println!("{}: {difference}", case.file_name().unwrap().to_string_lossy());
        }
    }
    println!("{} passed, {failed} failed", cases.len() - failed);
    assert!(failed == 0 && !cases.is_empty());
}
