//! The blocks of the documents, and what scenarios claim of them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use sluice_e2e::scenario::Scenario;

/// Texts by the number of document and block, `001/07`.
pub type Blocks = BTreeMap<String, String>;

/// That a block is in a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    #[serde(skip)]
    pub scenario: String,
    pub block: String,
    /// From the folder of the scenario.
    pub file: String,
    /// Texts of the block, each to be replaced once.
    #[serde(default)]
    pub repairs: Vec<(String, String)>,
    /// The step after which it is there, or is printed.
    pub after: Option<usize>,
    /// Where it is then.
    pub at: Option<String>,
}

/// All documents.
pub fn blocks() -> Blocks {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let mut blocks = Blocks::new();
    for (document, _) in super::BLOCKS {
        read(&std::fs::read_to_string(folder.join(format!("{document}.md"))).unwrap(), &mut blocks);
    }
    blocks
}

/// The fenced texts of a document, each below a heading that begins with its number.
fn read(text: &str, blocks: &mut Blocks) {
    let (mut number, mut lines) = (None, text.lines());
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            number = heading.split(' ').next().map(str::to_owned);
        } else if line.starts_with("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let number = number.take().expect("a block without a heading of its own");
            assert!(blocks.insert(number.clone(), block.join("\n")).is_none(), "{number} is there twice");
        }
    }
}

/// What all scenarios claim.
pub fn claims() -> Vec<Claim> {
    let mut found = Vec::new();
    for scenario in Scenario::names().unwrap() {
        let file = Scenario::folder().join(&scenario).join("seed.json");
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let claims: Result<Vec<Claim>, _> = serde_json::from_str(&text);
        let claims = claims.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        found.extend(claims.into_iter().map(|claim| Claim { scenario: scenario.clone(), ..claim }));
    }
    found
}

// === impl Claim ===

impl Claim {
    /// The text of its file.
    pub fn text(&self) -> String {
        let path = Scenario::folder().join(&self.scenario).join(&self.file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether `sluice build` makes it; tables are printed by commands.
    pub fn is_manifest_that_is_made(&self) -> bool {
        self.after.is_some() && self.file.ends_with(".yaml")
    }

    /// Whether it is an EventReport, which a management cluster shows to whoever looks.
    pub fn is_report(&self) -> bool {
        self.is_manifest_that_is_made() && self.text().contains("kind: EventReport")
    }

    /// Whether it is a command with its table.
    pub fn is_table(&self) -> bool {
        self.after.is_some() && !self.file.ends_with(".yaml")
    }

    /// Why it does not hold.
    pub fn complaint(&self, blocks: &Blocks) -> Option<String> {
        self.wrong(blocks).map(|wrong| format!("{}: block {}: {wrong}", self.scenario, self.block))
    }

    fn wrong(&self, blocks: &Blocks) -> Option<String> {
        let folders: &[&str] =
            if self.after.is_some() { &["printed/"] } else { &["input/", "steps/", "harness/"] };
        if !folders.iter().any(|folder| self.file.starts_with(folder)) {
            return Some(format!("{} must be below {}", self.file, folders.join(", ")));
        }
        let Some(block) = blocks.get(&self.block) else { return Some("there is no such block".to_owned()) };
        let mut block = squeezed(block);
        for (from, to) in &self.repairs {
            if !block.contains(&squeezed(from)) {
                return Some(format!("it has no {from:?} to be repaired"));
            }
            block = block.replacen(&squeezed(from), &squeezed(to), 1);
        }
        let is_there = squeezed(&self.text()).contains(&block);
        (!is_there).then(|| format!("it is not in {}", self.file))
    }
}

/// A text without its white space, which pages lose.
pub fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}
