//! The commands that documents show: they exist, and print what the document says.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod live;
mod markdown;
mod offline;
mod programs;
mod shell;

use markdown::documents;

#[test]
fn every_command_of_a_block_can_be_given() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for shown in documents().iter().flat_map(markdown::Document::commands) {
        for call in shell::calls(&shown.line) {
            count += 1;
            wrong.extend(shown.complaint(programs::complaint(&call)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} commands were found");
}

#[test]
fn every_command_in_a_sentence_has_its_name_and_its_flags() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for shown in documents().iter().flat_map(markdown::Document::inline) {
        let Some(call) = shell::calls(&shown.line).into_iter().next() else { continue };
        count += usize::from(programs::is_sluice(&call));
        wrong.extend(shown.complaint(programs::complaint_of_names(&call)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "only {count} commands were found");
}

#[test]
fn every_block_says_whether_it_holds_commands() {
    let unclear: Vec<String> = documents().iter().flat_map(markdown::Document::unclear).collect();
    assert!(unclear.is_empty(), "say ```console, or ```yaml: {unclear:#?}");
}

#[test]
fn what_documents_show_of_answers_has_the_names_of_the_contract() {
    let contract =
        std::fs::read_to_string(markdown::root().join("proto/sluice/inspect/v1/inspect.proto")).unwrap();
    let shown: Vec<_> = markdown::Document::read("docs/inspect.md").commands();
    let answers: Vec<_> =
        shown.iter().filter(|shown| shown.line.contains("grpcurl") && !shown.output.is_empty()).collect();
    assert!(answers.len() >= 11, "{answers:#?}");
    for shown in answers {
        let fields = programs::fields(&shown.output.join("\n"), &contract);
        assert!(fields.is_ok(), "{}: {fields:?}", shown.place);
    }
}
