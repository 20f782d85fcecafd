//! The functions Sveltos adds to sprig, in the forms of both stages, and opt-in extras.

pub(crate) mod deploy;
pub(crate) mod event;
pub(crate) mod extras;
pub(crate) mod fields;
pub(crate) mod plain;
