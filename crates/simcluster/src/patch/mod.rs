//! The patch formats that change an object as plain JSON.

pub mod json;
pub mod merge;
pub mod strategic;
