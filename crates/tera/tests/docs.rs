//! The page in `docs/` is the one that the table of functions generates.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

#[test]
fn the_page_is_up_to_date() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/tera.md");
    let wanted = sluice_tera::reference_page();
    if std::env::var_os("SLUICE_WRITE_DOCS").is_some() {
        std::fs::write(&page, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(found == wanted, "docs/tera.md is out of date: run this test with SLUICE_WRITE_DOCS=1");
}
