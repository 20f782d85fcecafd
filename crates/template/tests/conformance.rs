//! What Go prints, recorded, against what this engine prints. `SLUICE_TEMPLATE_CASES` names
//! another file of cases in the same form.
//!
//! It is a program of its own, so that the totals are printed whether it passes or not.

mod common;

use std::process::ExitCode;

use common::Case;

fn main() -> ExitCode {
    let files = match std::env::var("SLUICE_TEMPLATE_CASES") {
        Ok(path) => vec![path],
        Err(_) => common::own_files(),
    };
    let cases: Vec<Case> = files.iter().flat_map(|file| common::read(file)).collect();
    let mut failed = 0;
    for case in &cases {
        let (expected, got) = (case.expected(), case.run());
        if expected != got {
            failed += 1;
            println!("{}\n  expected {expected:?}\n  got      {got:?}", case.name);
        }
    }
    println!("{} passed, {failed} failed", cases.len() - failed);
    if failed == 0 && !cases.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
