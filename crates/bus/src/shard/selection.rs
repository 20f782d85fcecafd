//! Whose filters select a subject, of many who have some.

use std::collections::HashMap;
use std::str::Split;

/// Filters as the server knows them, in a tree of their tokens; each is of somebody, by number.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    tokens: HashMap<String, Selection>,
    /// After `*`.
    any: Option<Box<Selection>>,
    /// Whose filter ends here with `>`.
    rest: Option<usize>,
    /// Whose filter ends here.
    here: Option<usize>,
}

impl Selection {
    /// Adds a filter.
    pub(crate) fn insert(&mut self, filter: &str, whose: usize) {
        let mut place = self;
        for token in filter.split('.') {
            place = match token {
                ">" => {
                    place.rest = Some(whose);
                    return;
                }
                "*" => place.any.get_or_insert_default(),
                token => place.tokens.entry(token.to_owned()).or_default(),
            };
        }
        place.here = Some(whose);
    }

    /// Whose filter selects the subject; where several do, that of one of them.
    pub(crate) fn find(&self, subject: &str) -> Option<usize> {
        self.find_in(subject.split('.'))
    }

    fn find_in(&self, mut tokens: Split<'_, char>) -> Option<usize> {
        let Some(token) = tokens.next() else { return self.here };
        let exact = self.tokens.get(token).and_then(|next| next.find_in(tokens.clone()));
        exact.or_else(|| self.any.as_ref()?.find_in(tokens)).or(self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(filters: &[&str]) -> Selection {
        let mut selection = Selection::default();
        filters.iter().enumerate().for_each(|(whose, filter)| selection.insert(filter, whose));
        selection
    }

    #[test]
    fn a_filter_selects_as_the_server_does() {
        let yes = [("a.b", "a.b"), ("a.*", "a.b"), ("a.>", "a.b.c"), ("*.b.*", "a.b.c")];
        let no =
            [("a.b", "a.c"), ("a.*", "a"), ("a.*", "a.b.c"), ("a.>", "a"), ("a.b.c", "a.b"), ("a", "ab")];
        assert_eq!(yes.map(|(filter, subject)| selection(&[filter]).find(subject)), [Some(0); 4]);
        assert_eq!(no.map(|(filter, subject)| selection(&[filter]).find(subject)), [None; 6]);
    }

    #[test]
    fn a_path_that_leads_nowhere_leaves_the_others() {
        let all = selection(&["r.*.*.03.>", "r.a.complete.03", "r.a.b.c", "r.>"]);
        let whose = ["r.a.b.03.x", "r.a.complete.03", "r.a.b.c", "r.a.b.d", "r.a.complete.03.x"];
        assert_eq!(whose.map(|subject| all.find(subject)), [Some(0), Some(1), Some(2), Some(3), Some(0)]);
    }
}
