//! What Go prints, recorded, against what this engine prints. `SLUICE_TEMPLATE_CASES` names
//! another file of cases in the same form.

mod common;

use common::Case;

#[test]
fn every_case_prints_what_go_prints() {
    let files = match std::env::var("SLUICE_TEMPLATE_CASES") {
        Ok(path) => vec![path],
        Err(_) => common::own_files(),
    };
    let cases: Vec<Case> = files.iter().flat_map(|file| common::read(file)).collect();
    let (mut passed, mut failed) = (0, 0);
    for case in &cases {
        let (expected, got) = (case.expected(), case.run());
        if expected == got {
            passed += 1;
            continue;
        }
        failed += 1;
        println!("{}\n  expected {expected:?}\n  got      {got:?}", case.name);
    }
    println!("{passed} passed, {failed} failed");
    assert_eq!(failed, 0, "{passed} passed, {failed} failed");
}
