//! The reference page, generated from the registration tables.

use super::{Row, builtins, signature};
use crate::{codec, sprig, sveltos};

/// A part of the page: title, introduction, tables.
type Section = (&'static str, &'static str, Vec<&'static &'static [Row]>);

fn sections() -> Vec<Section> {
    vec![
        ("Built-in functions", "Every stage.", vec![&builtins::TABLE]),
        ("Codecs", "Every stage.", vec![&codec::TABLE]),
        (
            "sprig",
            "Every stage but `Plain`. `FuncMap` and `TxtFuncMap` are the same.",
            sprig::TABLES.to_vec(),
        ),
        ("Resources, event stage", "They take an object such as `.Resource`.", vec![&sveltos::event::TABLE]),
        (
            "Resources, deploy stage",
            "They take the identifier of a declared resource.",
            vec![&sveltos::deploy::TABLE],
        ),
        ("Resources outside of the stages", "Stages `Plain` and `Sprig`.", vec![&sveltos::plain::TABLE]),
        ("Extras", "Only for templates compiled with the extras.", vec![&sveltos::extras::TABLE]),
        ("Methods of versions", "What `semver` returns.", vec![&sprig::methods::VERSION_TABLE]),
        ("Methods of times", "What `now` and `toDate` return.", vec![&sprig::dates::time_methods::TABLE]),
        (
            "Methods of durations",
            "What `.Sub` of a time returns.",
            vec![&sprig::dates::time_methods::DURATION_TABLE],
        ),
        (
            "Methods of months and weekdays",
            "What `.Month` and `.Weekday` of a time return.",
            vec![&sprig::dates::time_methods::NAMED_TABLE],
        ),
    ]
}

/// The page `docs/templates.md`: every function with its signature and differences from Go.
pub fn reference_page() -> String {
    let mut page = String::from(INTRODUCTION);
    for (title, introduction, tables) in sections() {
        page.push_str(&format!("\n## {title}\n\n{introduction}\n\n"));
        page.push_str("| function | result | what it does | difference from Go |\n|---|---|---|---|\n");
        let mut rows: Vec<&Row> = tables.iter().flat_map(|t| t.iter()).collect();
        rows.sort_by_key(|row| signature::parse(row.0).name.to_lowercase());
        for (signature, _, doc) in rows {
            let (head, result) = signature.rsplit_once(") ").unwrap_or((signature, ""));
            let (what, difference) = doc.split_once(" | ").unwrap_or((doc, ""));
            let escaped = |text: &str| text.replace('|', "\\|");
            page.push_str(&format!(
                "| `{head})` | {result} | {} | {} |\n",
                escaped(what),
                escaped(difference)
            ));
        }
    }
    page
}

const INTRODUCTION: &str = "# Template functions

This page is generated from the table that registers the functions; a test keeps it up to date
(`SLUICE_WRITE_DOCS=1 cargo test -p sluice-template --test docs` writes it anew).

Templates are Go's `text/template` with the functions below, byte for byte, error texts included.
Everywhere: integers of objects are `int64`, other numbers `float64`; a missing key is an error in
both stages; local time is UTC; maps are walked in the order of their keys. Regular expressions
are Go's, in linear time. ConfigMaps and Secrets may ask for [another language](tera.md).

## Random values

What random functions draw follows from the template, from a secret of the installation, and from who asks: the
profile or trigger (kind, namespace, name), its ServiceAccount and the destination, which is called by
its registration. So it is the same in every replica and after every restart, and different for everybody
else. A template of an event is rendered once for all its destinations: for these the cluster of the event
stands. `sluice build` has no secret and draws others.

The annotation `sluice.dev/shared-random: \"true\"` on a profile or trigger lets all its destinations draw the same.
With `sluice.dev/shared-random: as-formerly` it draws what versions before this annotation drew, which does
not depend on who asks; triggers and profiles of tenants, and `Profile`s, may not.

## Limits

Every render has budgets. A template that uses one up fails with `limit: …` at its place.

| limit | default |
|---|---|
| steps (executed nodes and work inside functions, about a microsecond each) | 1 000 000 |
| output | 4 MiB |
| one computed string | 2 MiB |
| all computed values of a render | 32 MiB |
| nested `template`, `include`, `tpl` | 100 |
| nested blocks and parentheses | 100 |
| template text | 1 MiB |
| maps and lists nested in each other | 100 |
| deadline | given by the caller |
";

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_type_of_every_signature_is_known() {
        for row in sections().iter().flat_map(|s| &s.2).flat_map(|t| t.iter()) {
            let (_, rest) = row.0.split_once('(').expect("a parameter list");
            let (params, result) = rest.rsplit_once(')').expect("a closed parameter list");
            for param in params.split(", ").filter(|p| !p.is_empty()) {
                let ty = param.rsplit(' ').next().unwrap_or("");
                assert!(super::super::Ty::parse(ty).is_some(), "{}: {param}", row.0);
            }
            assert!(super::super::Ty::parse(result.trim()).is_some(), "{}: {result}", row.0);
        }
    }

    #[test]
    fn no_function_is_registered_twice_in_a_section() {
        for (title, _, tables) in sections() {
            let mut seen = HashSet::new();
            for row in tables.iter().flat_map(|t| t.iter()) {
                assert!(seen.insert(signature::parse(row.0).name), "{title}: {}", row.0);
            }
        }
    }
}
