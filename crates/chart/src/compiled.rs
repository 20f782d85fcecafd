//! Parsed templates of charts, apart from the values they are rendered with.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sluice_template::{Error as TemplateError, Limits, Program, TemplateSet};

use crate::{error::Error, trace};

/// Bytes that the templates of one chart may take when they are parsed: many times what they are as text.
const PARSED: usize = 32 << 20;

/// Values enable and disable dependencies; so many choices of one chart are kept.
const SETS: usize = 4;

/// The parsed templates of one chart: the first render fills it, later ones take from it. Clones are the same one.
///
/// It belongs to one chart and one [`Limits`]; nothing of values, releases and clusters is in it.
#[derive(Debug, Clone, Default)]
pub struct Compiled(Arc<Mutex<Parsed>>);

/// The parsed templates of many charts, by their digests. When they take more than they may, whichever was not asked for
/// the longest goes.
#[derive(Debug)]
pub struct CompiledCharts {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Parsed {
    /// By name; an alias, or two dependencies of one name, can give a name several texts.
    programs: HashMap<String, Vec<Arc<Program>>>,
    /// The newest last.
    sets: VecDeque<Arc<TemplateSet>>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Kept {
    turn: u64,
    charts: HashMap<String, (u64, Compiled)>,
}

// === impl Compiled ===

impl Compiled {
    /// The set of these templates, of which those are parsed that have not been yet. What cannot be parsed is not kept.
    pub(crate) fn set(&self, texts: &[(&str, &str)], limits: &Limits) -> Result<Arc<TemplateSet>, Error> {
        let mut parsed = self.lock();
        let mut programs = Vec::with_capacity(texts.len());
        let mut bytes = 0;
        for (name, text) in texts {
            let program =
                parsed.program(name, text, limits).map_err(|error| trace::of_parsing(name, &error))?;
            bytes += program.bytes();
            if bytes > PARSED {
                return Err(Error::limit(format!(
                    "limit: {name}: the templates of the chart take more than {PARSED} bytes when they are parsed"
                )));
            }
            programs.push(program);
        }
        Ok(parsed.set(programs))
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Parsed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Parsed ===

impl Parsed {
    fn program(&mut self, name: &str, text: &str, limits: &Limits) -> Result<Arc<Program>, TemplateError> {
        let known = self.programs.get(name).into_iter().flatten().find(|program| program.text() == text);
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let program = Arc::new(TemplateSet::program(name, text, limits)?);
        self.bytes += program.bytes();
        self.programs.entry(name.to_owned()).or_default().push(program.clone());
        Ok(program)
    }

    fn set(&mut self, programs: Vec<Arc<Program>>) -> Arc<TemplateSet> {
        let is_wanted = |set: &Arc<TemplateSet>| {
            let kept = set.programs();
            kept.len() == programs.len() && kept.iter().zip(&programs).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        if let Some(known) = self.sets.iter().find(|set| is_wanted(set)) {
            return known.clone();
        }
        if self.sets.len() == SETS {
            self.sets.pop_front();
        }
        let set = Arc::new(TemplateSet::of(programs));
        self.sets.push_back(set.clone());
        set
    }
}

// === impl CompiledCharts ===

impl CompiledCharts {
    /// Parsed templates of at most about this many bytes together, and of one chart at least.
    pub fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    /// Those of the chart with this digest; they are filled when it is rendered.
    pub fn of(&self, digest: &str) -> Compiled {
        let mut kept = self.lock();
        kept.turn += 1;
        let turn = kept.turn;
        let (used, compiled) = kept.charts.entry(digest.to_owned()).or_default();
        *used = turn;
        let compiled = compiled.clone();
        kept.trim(self.most);
        compiled
    }

    /// Of how many charts something is kept.
    pub fn len(&self) -> usize {
        self.lock().charts.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for CompiledCharts {
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

// === impl Kept ===

impl Kept {
    /// Lets go what was not asked for the longest, but not what was asked for just now.
    fn trim(&mut self, most: usize) {
        let mut bytes: usize = self.charts.values().map(|(_, compiled)| compiled.bytes()).sum();
        while bytes > most && self.charts.len() > 1 {
            let oldest =
                self.charts.iter().min_by_key(|(_, (used, _))| *used).map(|(digest, _)| digest.clone());
            let Some((_, gone)) = oldest.and_then(|digest| self.charts.remove(&digest)) else { return };
            bytes = bytes.saturating_sub(gone.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn set(compiled: &Compiled, texts: &[(&str, &str)]) -> Arc<TemplateSet> {
        compiled.set(texts, &Limits::default()).unwrap()
    }

    #[test]
    fn what_is_parsed_is_parsed_once() {
        let compiled = Compiled::default();
        let first = set(&compiled, &[("a", "{{ 1 }}"), ("b", "{{ 2 }}")]);
        let bytes = compiled.bytes();
        assert!(Arc::ptr_eq(&first, &set(&compiled, &[("a", "{{ 1 }}"), ("b", "{{ 2 }}")])));
        let fewer = set(&compiled, &[("b", "{{ 2 }}")]);
        assert!(Arc::ptr_eq(&fewer.programs()[0], &first.programs()[1]));
        assert_eq!(compiled.bytes(), bytes);
    }

    #[test]
    fn one_name_can_have_several_texts() {
        let compiled = Compiled::default();
        for text in ["{{ 1 }}", "{{ 2 }}", "{{ 1 }}"] {
            assert_eq!(set(&compiled, &[("a", text)]).programs()[0].text(), text);
        }
    }

    #[test]
    fn what_cannot_be_parsed_is_not_kept() {
        let compiled = Compiled::default();
        let error = compiled.set(&[("a", "{{ end }}")], &Limits::default()).unwrap_err();
        assert!(error.to_string().contains("(a:1)") && compiled.bytes() == 0, "{error}");
    }

    #[test]
    fn few_choices_of_one_chart_are_kept() {
        let compiled = Compiled::default();
        let names: Vec<String> = (0..20).map(|at| at.to_string()).collect();
        for name in &names {
            set(&compiled, &[(name, "x")]);
        }
        assert_eq!(compiled.lock().sets.len(), SETS);
    }

    #[test]
    fn the_chart_that_was_not_asked_for_the_longest_goes() {
        let texts = [("a", "{{ 1 }}")];
        let probe = Compiled::default();
        set(&probe, &texts);
        let charts = CompiledCharts::new(probe.bytes() * 2);
        let first = set(&charts.of("one"), &texts);
        set(&charts.of("two"), &texts);
        assert!(Arc::ptr_eq(&first, &set(&charts.of("one"), &texts)));
        set(&charts.of("three"), &texts);
        charts.of("one");
        assert_eq!(charts.len(), 2);
        assert!(Arc::ptr_eq(&first, &set(&charts.of("one"), &texts)), "one was asked for after two");
        assert_eq!(charts.of("two").bytes(), 0);
    }

    #[test]
    fn one_chart_stays_however_large_it_is() {
        let charts = CompiledCharts::new(0);
        let first = set(&charts.of("one"), &[("a", "{{ 1 }}")]);
        assert!(Arc::ptr_eq(&first, &set(&charts.of("one"), &[("a", "{{ 1 }}")])));
        assert!(!charts.is_empty());
    }
}
