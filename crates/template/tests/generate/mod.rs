//! Random templates: mostly well-typed expressions, some nonsense, some broken syntax.

mod calls;
pub mod values;

use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::Value as Json;

use super::common::Case;

/// As many cases as asked for, always the same for a seed.
pub fn cases(seed: u64, count: u64) -> Vec<Case> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..count).map(|i| case(&mut random, i)).collect()
}

/// The names of all functions that are called.
pub fn functions() -> impl Iterator<Item = &'static str> {
    calls::CORE.iter().chain(calls::SPRIG).map(|(name, _)| *name)
}

fn case(random: &mut StdRng, number: u64) -> Case {
    let data = values::object(random, 3);
    let sprig = random.random_bool(0.6);
    let mut writer = Writer { random, data: data.clone(), sprig, variables: Vec::new(), depth: 0, loops: 0 };
    let mut template = writer.block(4);
    if writer.random.random_bool(0.06) {
        template = values::damage(writer.random, &template);
    }
    let missing_key = match writer.random.random_range(0..10) {
        0 => Some("error".to_owned()),
        1 => Some("zero".to_owned()),
        _ => None,
    };
    Case {
        name: format!("fuzz_{number}"),
        group: if sprig { "sprig" } else { "core" }.to_owned(),
        template,
        data,
        missing_key,
        ..Case::default()
    }
}

/// Writes a template for the data at hand.
struct Writer<'r> {
    random: &'r mut StdRng,
    data: Json,
    sprig: bool,
    variables: Vec<String>,
    depth: usize,
    loops: usize,
}

impl Writer<'_> {
    fn pick<'t, T: ?Sized>(&mut self, all: &[&'t T]) -> &'t T {
        all[self.random.random_range(0..all.len())]
    }

    fn block(&mut self, most: usize) -> String {
        let count = self.random.random_range(1..=most);
        let known = self.variables.len();
        let text = (0..count).map(|_| self.statement()).collect();
        self.variables.truncate(known);
        text
    }

    fn open(&mut self) -> &'static str {
        self.pick(&["{{", "{{ ", "{{- ", "{{ "])
    }

    fn close(&mut self) -> &'static str {
        self.pick(&["}}", " }}", " -}}", " }}"])
    }

    fn statement(&mut self) -> String {
        self.depth += 1;
        let deep = self.depth > 3;
        let choice = self.random.random_range(0..if deep { 10 } else { 16 });
        let (open, close) = (self.open(), self.close());
        let text = match choice {
            0..=5 => format!("{open}{}{close}", self.pipeline()),
            6..=7 => self.pick(&["text ", " \n ", "a: b\n", "\t", "x"]).to_owned(),
            8 => {
                let name = format!("${}", self.pick(&["x", "y", "zed"]));
                let text = format!("{open}{name} := {}{close}", self.pipeline());
                self.variables.push(name);
                text
            }
            9 => match self.variables.last().cloned() {
                Some(name) => format!("{open}{name} = {}{close}", self.pipeline()),
                None => format!("{{{{/* {} */}}}}", self.pick(&["note", "", "{{"])),
            },
            10..=11 => self.condition(open, close),
            12..=13 => self.with(open, close),
            _ => self.range(open, close),
        };
        self.depth -= 1;
        text
    }

    fn condition(&mut self, open: &str, close: &str) -> String {
        let mut text = format!("{open}if {}{close}{}", self.pipeline(), self.block(2));
        if self.random.random_bool(0.3) {
            text.push_str(&format!("{{{{else if {}}}}}{}", self.pipeline(), self.block(1)));
        }
        if self.random.random_bool(0.5) {
            text.push_str(&format!("{{{{ else }}}}{}", self.block(2)));
        }
        text + "{{ end }}"
    }

    fn with(&mut self, open: &str, close: &str) -> String {
        let text = format!("{open}with {}{close}{}", self.pipeline(), self.block(2));
        if self.random.random_bool(0.3) {
            return format!("{text}{{{{ else }}}}{}{{{{ end }}}}", self.block(1));
        }
        text + "{{ end }}"
    }

    fn range(&mut self, open: &str, close: &str) -> String {
        let names = match self.random.random_range(0..3) {
            0 => vec![],
            1 => vec!["$e".to_owned()],
            _ => vec!["$i".to_owned(), "$e".to_owned()],
        };
        let source = if self.random.random_bool(0.2) {
            self.random.random_range(0..4).to_string()
        } else {
            self.pipeline()
        };
        let head = if names.is_empty() { String::new() } else { format!("{} := ", names.join(", ")) };
        let known = self.variables.len();
        self.variables.extend(names);
        self.loops += 1;
        let mut body = self.block(2);
        if self.random.random_bool(0.15) {
            body.push_str(self.pick(&["{{break}}", "{{ continue }}x"]));
        }
        self.loops -= 1;
        self.variables.truncate(known);
        let otherwise = if self.random.random_bool(0.3) {
            format!("{{{{else}}}}{}", self.block(1))
        } else {
            String::new()
        };
        format!("{open}range {head}{source}{close}{body}{otherwise}{{{{ end }}}}")
    }

    fn pipeline(&mut self) -> String {
        let mut text = self.call_or_operand();
        while self.random.random_bool(0.25) {
            let stage = calls::pipe_stage(self);
            text = format!("{text} | {stage}");
        }
        text
    }

    fn call_or_operand(&mut self) -> String {
        if self.random.random_bool(0.7) { calls::call(self) } else { self.operand() }
    }

    /// Something that can be an argument.
    fn operand(&mut self) -> String {
        self.depth += 1;
        let deep = self.depth > 5;
        let text = match self.random.random_range(0..12) {
            0..=3 => values::path(self.random, &self.data),
            4 => match self.variables.len() {
                0 => "$".to_owned(),
                n => self.variables[self.random.random_range(0..n)].clone(),
            },
            5 => ".".to_owned(),
            6..=8 => values::literal(self.random),
            9 if deep => values::literal(self.random),
            _ if deep => values::path(self.random, &self.data),
            _ => format!("({})", self.pipeline()),
        };
        self.depth -= 1;
        text
    }
}
