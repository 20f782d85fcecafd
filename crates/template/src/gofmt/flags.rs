//! The flags between `%` and the verb.

/// What a verb's flags, width and precision say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flags {
    pub(crate) width: Option<usize>,
    pub(crate) precision: Option<usize>,
    pub(crate) minus: bool,
    pub(crate) plus: bool,
    pub(crate) sharp: bool,
    pub(crate) space: bool,
    pub(crate) zero: bool,
    /// `%+v`
    pub(crate) plus_v: bool,
    /// `%#v`
    pub(crate) sharp_v: bool,
}

// === impl Flags ===

impl Flags {
    /// `%v` gives `+` and `#` other meanings.
    pub(crate) fn for_verb_v(&mut self) {
        self.sharp_v = std::mem::take(&mut self.sharp);
        self.plus_v = std::mem::take(&mut self.plus);
    }
}
