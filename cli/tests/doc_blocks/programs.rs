//! What can be said of a call without making it: is there such a program, command, flag, target, file?

use std::path::Path;

use clap::{Command, CommandFactory as _, Parser as _};

use crate::markdown::root;
use crate::shell::Call;

/// Programs of others, of which nothing is known here.
const OTHERS: &[&str] =
    &["echo", "helm", "jq", "kubectl", "ln", "nats", "nats-server", "nsc", "sed", "sort", "uniq"];
/// Folders of the repository that commands name.
const FOLDERS: &[&str] = &["crates", "deploy", "docs", "e2e", "examples", "proto", "scripts"];

/// What is wrong with a call, in words.
pub fn complaint(call: &Call) -> Result<(), String> {
    let Some(program) = call.words.first() else { return Ok(()) };
    call.words.iter().try_for_each(|word| path_is_there(word))?;
    let arguments: Vec<&str> = call.words[1..].iter().map(String::as_str).collect();
    match program.as_str() {
        "make" => make(&arguments),
        "cargo" => cargo(&arguments),
        "docker" => compose(&arguments),
        "grpcurl" => method(&arguments),
        // That it is there has been looked at.
        script if script.starts_with("scripts/") || script.starts_with("deploy/") => Ok(()),
        other if OTHERS.contains(&other) => Ok(()),
        other => ours(other, &call.words),
    }
}

/// Whether a call is one of `sluice`, whichever folder it lies in.
pub fn is_sluice(call: &Call) -> bool {
    call.words
        .first()
        .is_some_and(|word| word == "sluice" || word.starts_with("target/") && word.ends_with("/sluice"))
}

fn ours(program: &str, words: &[String]) -> Result<(), String> {
    let name = Path::new(program).file_name().unwrap_or_default().to_str().unwrap_or_default();
    let parsed = match name {
        "sluice" => sluice_cli::Args::try_parse_from(words).map(drop),
        "sluice-agent" => sluice_agent::Args::try_parse_from(words).map(drop),
        "sluice-matcher" => sluice_matcher::Args::try_parse_from(words).map(drop),
        "sluice-renderer" => sluice_renderer::Args::try_parse_from(words).map(drop),
        "sluice-deployer" => sluice_deployer::Args::try_parse_from(words).map(drop),
        "sluice-loadtest" => return loadtest(words[1..].iter().map(String::as_str)),
        _ => return Err(format!("nobody knows the program {program}")),
    };
    parsed.map_err(|error| error.to_string())
}

fn path_is_there(word: &str) -> Result<(), String> {
    let is_path = word.split_once('/').is_some_and(|(folder, _)| FOLDERS.contains(&folder));
    if is_path && !root().join(word).exists() {
        return Err(format!("there is no {word}"));
    }
    Ok(())
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn make(arguments: &[&str]) -> Result<(), String> {
    let makefile = read("Makefile");
    for argument in arguments {
        match argument.strip_prefix("ARGS=") {
            Some(more) if arguments.contains(&"load") => loadtest(more.split(' '))?,
            Some(_) => {}
            None if is_variable(argument, &makefile) => {}
            None if makefile.lines().any(|line| line.starts_with(&format!("{argument}:"))) => {}
            None => return Err(format!("the Makefile has no target {argument}")),
        }
    }
    Ok(())
}

/// Whether this gives the Makefile a variable that it reads.
fn is_variable(argument: &str, makefile: &str) -> bool {
    argument.split_once('=').is_some_and(|(name, _)| makefile.contains(&format!("$({name})")))
}

/// The load generator is no library of this crate: its flags are read in its source.
fn loadtest<'a>(arguments: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let source = read("loadtest/src/args.rs");
    for flag in arguments.filter_map(|argument| argument.strip_prefix("--")) {
        let field = flag.split('=').next().unwrap_or(flag).replace('-', "_");
        if !source.contains(&format!("\n    {field}: ")) {
            return Err(format!("sluice-loadtest has no --{flag}"));
        }
    }
    Ok(())
}

/// `cargo bench -p PACKAGE --bench NAME`, and the same for tests and binaries.
fn cargo(arguments: &[&str]) -> Result<(), String> {
    let value =
        |flag: &str| arguments.windows(2).find_map(|pair| if pair[0] == flag { Some(pair[1]) } else { None });
    let package = value("-p").ok_or("say the package with -p")?;
    let folder = folder_of(package).ok_or(format!("there is no package {package}"))?;
    for (flag, place) in [("--bench", "benches"), ("--test", "tests"), ("--example", "examples")] {
        let Some(name) = value(flag) else { continue };
        path_is_there(&format!("{folder}/{place}/{name}.rs"))?;
    }
    Ok(())
}

/// The folder of a member of the workspace, which its own manifest names (not all are dependencies of others).
fn folder_of(package: &str) -> Option<String> {
    let manifest = read("Cargo.toml");
    let members = manifest.split_once("members = [")?.1.split_once(']')?.0;
    let named = format!("\nname = \"{package}\"\n");
    let mut folders = members.split('"').filter(|text| !text.trim_matches([',', ' ', '\n']).is_empty());
    folders.find(|folder| read(&format!("{folder}/Cargo.toml")).contains(&named)).map(String::from)
}

fn compose(arguments: &[&str]) -> Result<(), String> {
    let file = read("docker-compose.yml");
    for pair in arguments.windows(2).filter(|pair| pair[0] == "--scale") {
        let service = pair[1].split('=').next().unwrap_or_default();
        if !file.contains(&format!("\n  {service}:\n")) {
            return Err(format!("docker-compose.yml has no service {service}"));
        }
    }
    Ok(())
}

/// The method of the Inspect service that is called, and the fields of the question.
fn method(arguments: &[&str]) -> Result<(), String> {
    let contract = read("proto/sluice/inspect/v1/inspect.proto");
    for argument in arguments {
        let Some(name) = argument.strip_prefix("sluice.inspect.v1.Inspect/") else { continue };
        if !contract.contains(&format!("  rpc {name}(")) {
            return Err(format!("Inspect has no method {name}"));
        }
    }
    let questions = arguments.windows(2).filter(|pair| pair[0] == "-d" && pair[1] != "@");
    questions.map(|pair| pair[1]).try_for_each(|question| fields(question, &contract))
}

/// Whether every name in JSON, or in what a document shows of it, is that of a field or a value of the contract.
pub fn fields(text: &str, contract: &str) -> Result<(), String> {
    let names = regex::Regex::new(r#""(\w+)": |"([A-Z]+_[A-Z_]+)""#).unwrap();
    let capital = regex::Regex::new("[A-Z]").unwrap();
    // Labels have names of their own.
    let labels = regex::Regex::new(r#""labels": \{[^}]*\}"#).unwrap();
    for found in names.captures_iter(&labels.replace_all(text, "\"labels\": {}")) {
        let name = found.get(1).or(found.get(2)).unwrap().as_str();
        let field =
            capital.replace_all(name, |letter: &regex::Captures| format!("_{}", letter[0].to_lowercase()));
        let is_known = [name, &field].iter().any(|name| contract.contains(&format!(" {name} = ")));
        if !is_known {
            return Err(format!("the contract has no {name}"));
        }
    }
    Ok(())
}

/// What is wrong with code in a sentence: it may have placeholders, but commands and flags must be there.
pub fn complaint_of_names(call: &Call) -> Result<(), String> {
    let words = &call.words;
    match words.first().map(String::as_str) {
        Some("make") => {
            return make(&words[1..2.min(words.len())].iter().map(String::as_str).collect::<Vec<_>>());
        }
        Some(script) if script.starts_with("scripts/") => return path_is_there(script),
        Some("kubectl") if words.get(1).is_some_and(|word| word == "sluice") => return names(&words[2..]),
        _ => {}
    }
    if is_sluice(call) { names(&words[1..]) } else { Ok(()) }
}

fn names(words: &[String]) -> Result<(), String> {
    let mut command = sluice_cli::Args::command();
    command.build();
    let mut at: &Command = &command;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(text) = word.strip_prefix("--") {
            let (flag, value) =
                text.split_once('=').map_or((text, None), |(flag, value)| (flag, Some(value)));
            let argument = at.get_arguments().find(|argument| argument.get_long() == Some(flag));
            let argument = argument.ok_or(format!("{} has no --{flag}", at.get_name()))?;
            if value.is_none() && argument.get_action().takes_values() {
                words.next();
            }
        } else if let Some(inner) = at.find_subcommand(word) {
            at = inner;
        } else if at.has_subcommands() && word.chars().all(|letter| letter.is_ascii_lowercase()) {
            return Err(format!("{} has no {word}", at.get_name()));
        }
    }
    Ok(())
}

#[test]
fn what_is_not_there_is_a_complaint() {
    for (line, part) in [
        ("sluice staus", "staus"),
        ("sluice status --verbos", "--verbos"),
        ("target/up/sluice build examples/nothing", "examples/nothing"),
        ("sluice-agent --no-such-flag", "--no-such-flag"),
        ("sluice-loadtest --nobody 3", "--nobody"),
        ("make nothing", "no target nothing"),
        ("make images NOTHING=x", "no target NOTHING"),
        ("deploy/managed/nothing.sh shop", "deploy/managed/nothing.sh"),
        ("make load ARGS='--nobody'", "--nobody"),
        ("scripts/nothing.sh", "scripts/nothing.sh"),
        ("cargo bench -p sluice-nothing", "sluice-nothing"),
        ("cargo bench -p sluice-protocol --bench nothing", "nothing.rs"),
        ("docker compose up --scale nobody=3", "nobody"),
        ("grpcurl … sluice.inspect.v1.Inspect/Nothing", "no method Nothing"),
        ("grpcurl … -d '{\"nothingAtAll\": 1}' sluice.inspect.v1.Inspect/Trace", "no nothingAtAll"),
        ("slice status", "slice"),
    ] {
        let calls = crate::shell::calls(line);
        let said = complaint(&calls[0]).expect_err(line);
        assert!(said.contains(part), "{line}: {said}");
    }
    for (line, part) in [
        ("sluice staus", "staus"),
        ("sluice trace … --clusters a", "--clusters"),
        ("make nothing", "nothing"),
    ] {
        let said = complaint_of_names(&crate::shell::calls(line)[0]).expect_err(line);
        assert!(said.contains(part), "{line}: {said}");
    }
}
