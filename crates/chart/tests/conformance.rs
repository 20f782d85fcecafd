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

use common::{lines, plain_error, run_aloud, run_archived, run_packed};
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

fn cases() -> Vec<PathBuf> {
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/charts"));
    let folder = std::env::var_os("SLUICE_CHART_CASES").map_or(own, PathBuf::from);
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.join("case.json").exists());
    cases.sort();
    cases
}

/// What `helm package` takes is what `helm template` takes of the folder.
#[test]
fn a_chart_is_the_same_as_a_folder_and_as_an_archive() {
    let cases: Vec<PathBuf> = cases().into_iter().filter(|case| case.join("chart").exists()).collect();
    let differ = |case: &&PathBuf| {
        let (folder, archive) = (run_aloud(case, &mut Warnings::default()), run_packed(case));
        let differs = folder != archive;
        if differs {
            println!("{}:\n{folder:?}\n{archive:?}", case.display());
        }
        differs
    };
    assert_eq!(cases.iter().filter(differ).count(), 0, "of {}", cases.len());
}

/// An archive that somebody else has made holds what it holds: nothing in it is ignored.
#[test]
fn in_an_archive_nothing_is_ignored() {
    let case = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/charts/load-helmignore"));
    assert!(run_aloud(case, &mut Warnings::default()).is_ok());
    let ignored = "execution error at (app/templates/b.yaml.bak:1:3): no";
    assert_eq!(run_archived(case), Err(ignored.to_owned()));
}

#[test]
fn charts_are_rendered_as_helm_renders_them() {
    let cases = cases();
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
