//! A compiled pattern, and what a search costs.
//!
//! ```text
//! a search ─► an automaton that is made while it goes: a step for 512 bytes, and what its states take
//!                └─ has more states than fit ─► the engine that always works: a step for 16 bytes and part of the pattern
//! ```

use std::cell::RefCell;
use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_automata::hybrid::regex::{Cache, Regex as Automaton};
use regex_automata::util::iter::Searcher;
use regex_automata::util::syntax;
use regex_automata::{Input, Match, MatchError, hybrid, nfa::thompson};

use crate::exec::{Cx, Fail};

/// A pattern may take so much memory when compiled.
const SIZE_LIMIT: usize = 4 << 20;

/// And so much for the states that a search has met.
const STATES: usize = 512 << 10;

/// Bytes of a text that an automaton goes through in a step, about a microsecond.
const BYTES_PER_STEP: u64 = 512;

const NESTING: u32 = 1000;

/// A compiled pattern with its group names in Go's spelling.
pub(crate) struct Pattern {
    regex: Regex,
    weight: u64,
    /// Nothing where the pattern cannot be one.
    automaton: Option<(Automaton, RefCell<Cache>)>,
}

// === impl Pattern ===

impl Pattern {
    /// Nothing when it would be too large.
    pub(super) fn build(pattern: &str, weight: u64) -> Option<Self> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(SIZE_LIMIT)
            .dfa_size_limit(SIZE_LIMIT / 2)
            .nest_limit(NESTING)
            .build()
            .ok()?;
        let automaton = automaton(pattern).map(|automaton| {
            let cache = automaton.create_cache();
            (automaton, RefCell::new(cache))
        });
        Some(Self { regex, weight, automaton })
    }

    pub(super) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Shows every match until one is enough. Go steps over whole characters, so there are no empty matches inside of one.
    pub(super) fn each<'a>(
        &self,
        cx: &mut Cx<'a>,
        text: &[u8],
        show: impl FnMut(&mut Cx<'a>, Range<usize>) -> Result<bool, Fail>,
    ) -> Result<(), Fail> {
        let before = self.states();
        self.search_all(cx, text, show)?;
        cx.spend(self.states().saturating_sub(before))
    }

    /// What the states take that searches have met so far.
    fn states(&self) -> usize {
        self.automaton.as_ref().map_or(0, |(_, cache)| cache.borrow().memory_usage())
    }

    fn search_all<'a>(
        &self,
        cx: &mut Cx<'a>,
        text: &[u8],
        mut show: impl FnMut(&mut Cx<'a>, Range<usize>) -> Result<bool, Fail>,
    ) -> Result<(), Fail> {
        let mut fits = self.automaton.is_some();
        self.pay(cx, text, fits)?;
        let mut searcher = Searcher::new(Input::new(text));
        loop {
            let found = match searcher.try_advance(|input| self.search(input, text, fits)) {
                Ok(found) => found,
                // It has too many states: what it has cost is little beside what it costs now.
                Err(_) => {
                    fits = false;
                    self.pay(cx, text, fits)?;
                    continue;
                }
            };
            let Some(found) = found.map(|found| found.range()) else { return Ok(()) };
            let is_whole = !found.is_empty() || text.get(found.start).is_none_or(|byte| byte & 0xC0 != 0x80);
            if is_whole && !show(cx, found)? {
                return Ok(());
            }
        }
    }

    /// The groups of a match. Their search goes through the match alone, with every part of the pattern.
    pub(super) fn groups<'t>(
        &self,
        cx: &mut Cx<'_>,
        text: &'t [u8],
        found: &Range<usize>,
    ) -> Result<Option<Captures<'t>>, Fail> {
        cx.step(1 + self.weight.saturating_mul(found.len() as u64) / 16)?;
        Ok(self.regex.captures_at(text, found.start))
    }

    /// Pays for a search in advance: that of an automaton is linear in the text, any other in pattern times text.
    fn pay(&self, cx: &mut Cx<'_>, text: &[u8], fits: bool) -> Result<(), Fail> {
        let bytes = text.len() as u64;
        if fits {
            return cx.step(1 + bytes / BYTES_PER_STEP);
        }
        cx.step(1 + self.weight.saturating_mul(bytes) / 16)
    }

    fn search(&self, input: &Input<'_>, text: &[u8], fits: bool) -> Result<Option<Match>, MatchError> {
        if let Some((automaton, cache)) = self.automaton.as_ref().filter(|_| fits) {
            return automaton.try_search(&mut cache.borrow_mut(), input);
        }
        if input.start() > text.len() {
            return Ok(None);
        }
        Ok(self.regex.find_at(text, input.start()).map(|found| Match::must(0, found.range())))
    }
}

/// The automaton of a pattern; a search gives up instead of forgetting states.
fn automaton(pattern: &str) -> Option<Automaton> {
    let states = hybrid::dfa::Config::new()
        .cache_capacity(STATES)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(0));
    Automaton::builder()
        .syntax(syntax::Config::new().utf8(false).nest_limit(NESTING))
        .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE_LIMIT)))
        .dfa(states)
        .build(pattern)
        .ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Env, Limits};

    /// The matches, and the steps that finding them takes.
    fn searched(pattern: &str, text: &str, limits: &Limits) -> Result<Vec<Range<usize>>, Fail> {
        let translated = super::super::re2::translate(pattern).ok().unwrap();
        let pattern = Pattern::build(&translated.pattern, translated.weight).unwrap();
        let env = Env::default();
        let (mut cx, mut found) = (Cx::new(&env, limits, true), Vec::new());
        pattern.each(&mut cx, text.as_bytes(), |_, span| {
            found.push(span);
            Ok(true)
        })?;
        Ok(found)
    }

    #[test]
    fn every_search_finds_what_the_other_engine_finds() {
        let long = "ab".repeat(2_000);
        for (pattern, text) in [
            ("a*", "baaac"),
            ("", "añb"),
            ("(?i)AB|c$", "xabc"),
            ("\\bfoo\\b", "foo food foo"),
            ("(?m)^.", "ab\ncd"),
            ("[ab]*a[ab]{14}b", long.as_str()),
            ("x{3}", "xxxxxxx"),
            ("a.*b|a", "aaab aa"),
        ] {
            let translated = super::super::re2::translate(pattern).ok().unwrap();
            let regex = RegexBuilder::new(&translated.pattern).build().unwrap();
            let is_whole = |found: &Range<usize>| {
                !found.is_empty() || text.as_bytes().get(found.start).is_none_or(|byte| byte & 0xC0 != 0x80)
            };
            let expected: Vec<_> =
                regex.find_iter(text.as_bytes()).map(|m| m.range()).filter(is_whole).collect();
            let limits = Limits { steps: 100_000_000, ..Limits::default() };
            assert_eq!(searched(pattern, text, &limits).ok(), Some(expected), "{pattern} {text:.20}");
        }
    }

    #[test]
    fn a_long_text_costs_what_going_through_it_takes() {
        let text = "description: a text\n".repeat(150_000);
        let limits = Limits { steps: 200_000, ..Limits::default() };
        let pattern = "\\s*x-kubernetes-preserve-unknown-fields: (true|false)";
        assert_eq!(searched(pattern, &text, &limits).ok(), Some(Vec::new()));
        // Any order of letters, so that most states of the pattern are met.
        let mut number = 1_u32;
        let mixed: String = (0..100_000)
            .map(|_| {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if number >> 31 == 0 { 'a' } else { 'b' }
            })
            .collect();
        assert!(matches!(searched("[ab]*a[ab]{200}c", &mixed, &limits), Err(Fail::Limit(_))));
    }
}
