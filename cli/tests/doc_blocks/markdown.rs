//! Documents, and the commands in them.
//!
//! ```text
//! four spaces   commands, one a line; a line that ends with \ goes on
//! ```console    `$ ` and a command, and below it what is printed
//! ```text       of docs/cli.md: what `--help` says, with examples behind two spaces
//! `…`           in a sentence: names of commands, perhaps with arguments
//! ```

use std::path::{Path, PathBuf};

/// Languages of fenced blocks in which nobody writes a command.
const DATA: &[&str] = &["", "yaml", "json"];

/// A file of the repository.
pub struct Document {
    /// From the root of the repository.
    pub path: String,
    text: String,
}

/// A command as a document has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// File and line.
    pub place: String,
    pub line: String,
    /// What the document says is printed. Empty where it says nothing.
    pub output: Vec<String>,
}

impl Shown {
    /// What is wrong with it, and where it is shown.
    pub fn complaint(&self, result: Result<(), String>) -> Option<String> {
        result.err().map(|error| format!("{}: {}\n  {error}", self.place, self.line))
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Everything that people read, but the history.
pub fn documents() -> Vec<Document> {
    let root = root();
    let mut paths: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| root.join(name)).to_vec();
    below(&root.join("docs"), &mut paths);
    below(&root.join("examples"), &mut paths);
    paths.sort();
    paths.iter().map(|path| Document::read(path.strip_prefix(&root).unwrap().to_str().unwrap())).collect()
}

fn below(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, paths);
        } else if path.extension().is_some_and(|end| end == "md") {
            paths.push(path);
        }
    }
}

impl Document {
    /// A file by its path from the root of the repository.
    pub fn read(path: &str) -> Self {
        Self { path: path.to_owned(), text: std::fs::read_to_string(root().join(path)).unwrap() }
    }

    fn place(&self, index: usize) -> String {
        format!("{}:{}", self.path, index + 1)
    }

    /// The commands of all blocks.
    pub fn commands(&self) -> Vec<Shown> {
        let mut found = self.indented();
        for (first, language, lines) in self.fenced() {
            match language {
                "console" => found.extend(self.console(first, &lines)),
                "text" => found.extend(self.examples(first, &lines)),
                _ => {}
            }
        }
        found
    }

    /// What the document shows of what is printed without saying by which command.
    pub fn printed(&self) -> Vec<Vec<&str>> {
        let blocks = self.fenced().into_iter().filter(|(_, language, lines)| {
            *language == "console" && !lines.iter().any(|line| line.starts_with("$ "))
        });
        blocks.map(|(_, _, lines)| lines).collect()
    }

    /// Blocks of which nobody can say whether they are commands.
    pub fn unclear(&self) -> Vec<String> {
        let is_unclear = |language: &str, lines: &[&str]| match language {
            "console" | "text" => false,
            _ => !DATA.contains(&language) || lines.iter().any(|line| line.starts_with("$ ")),
        };
        let blocks = self.fenced().into_iter().filter(|(_, language, lines)| is_unclear(language, lines));
        blocks.map(|(first, ..)| self.place(first - 1)).collect()
    }

    /// The pieces of code in sentences and tables. A piece may go on in the next line, and ends with its paragraph.
    pub fn inline(&self) -> Vec<Shown> {
        let mut found = Vec::new();
        let mut open: Option<Shown> = None;
        self.outside(|index, line| {
            if line.is_empty() {
                open = None;
            }
            for (number, part) in line.split('`').enumerate() {
                match (&mut open, number) {
                    (Some(shown), 0) => shown.line += &format!(" {part}"),
                    (None, 0) => {}
                    (Some(_), _) => found.extend(open.take()),
                    (None, _) => {
                        let place = self.place(index);
                        open = Some(Shown { place, line: part.to_owned(), output: Vec::new() });
                    }
                }
            }
        });
        found
    }

    /// Index of the first line, language and lines of every fenced block.
    fn fenced(&self) -> Vec<(usize, &str, Vec<&str>)> {
        let mut found = Vec::new();
        let mut open: Option<(usize, &str, Vec<&str>)> = None;
        for (index, line) in self.text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(language), None) => open = Some((index + 1, language.trim(), Vec::new())),
                (Some(_), Some(_)) => found.extend(open.take()),
                (None, Some((_, _, lines))) => lines.push(line),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block does not end", self.path);
        found
    }

    /// Calls `look` with every line outside fenced and indented blocks.
    fn outside<'a>(&'a self, mut look: impl FnMut(usize, &'a str)) {
        let mut is_fenced = false;
        for (index, line) in self.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
            } else if !is_fenced && !line.starts_with("    ") {
                look(index, line);
            }
        }
    }

    fn indented(&self) -> Vec<Shown> {
        let mut found = Vec::<Shown>::new();
        let (mut is_fenced, mut goes_on) = (false, false);
        for (index, line) in self.text.lines().enumerate() {
            is_fenced ^= line.trim_start().starts_with("```");
            let Some(line) = line.strip_prefix("    ").filter(|_| !is_fenced) else {
                goes_on = false;
                continue;
            };
            let part = line.trim_end().trim_end_matches('\\');
            match found.last_mut().filter(|_| goes_on) {
                Some(shown) => shown.line += part.trim_start(),
                None => {
                    found.push(Shown { place: self.place(index), line: part.to_owned(), output: Vec::new() })
                }
            }
            goes_on = line.trim_end().ends_with('\\');
        }
        found
    }

    fn console(&self, first: usize, lines: &[&str]) -> Vec<Shown> {
        let mut found = Vec::<Shown>::new();
        for (index, line) in lines.iter().enumerate() {
            if let Some(line) = line.strip_prefix("$ ") {
                let place = self.place(first + index);
                found.push(Shown { place, line: line.to_owned(), output: Vec::new() });
            } else if let Some(shown) = found.last_mut() {
                shown.output.push((*line).to_owned());
            }
        }
        found
    }

    fn examples(&self, first: usize, lines: &[&str]) -> Vec<Shown> {
        let start = lines.iter().position(|line| *line == "Examples:").unwrap_or(lines.len());
        let examples = lines.iter().enumerate().skip(start + 1).map_while(|(index, line)| {
            let line = line.strip_prefix("  ")?.to_owned();
            Some(Shown { place: self.place(first + index), line, output: Vec::new() })
        });
        examples.collect()
    }
}

#[test]
fn commands_are_found_in_blocks_with_what_they_print() {
    let text = "a `sluice b` `c\nd` e\n\n    make up   # x\n    sluice \\\n      status\n\n```console\n$ one\n1\n$ two\n```\n```yaml\n$ no\n```\n```text\nExamples:\n  sluice eval\n\n  no\n```\n";
    let document = Document { path: "a.md".to_owned(), text: text.to_owned() };
    let shown = |place: &str, line: &str, output: &[&str]| Shown {
        place: place.to_owned(),
        line: line.to_owned(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    let wanted = [
        shown("a.md:4", "make up   # x", &[]),
        shown("a.md:5", "sluice status", &[]),
        shown("a.md:9", "one", &["1"]),
        shown("a.md:11", "two", &[]),
        shown("a.md:18", "sluice eval", &[]),
    ];
    assert_eq!(document.commands(), wanted);
    assert_eq!(document.inline(), [shown("a.md:1", "sluice b", &[]), shown("a.md:1", "c d", &[])]);
    assert_eq!(document.unclear(), ["a.md:13"]);
}
