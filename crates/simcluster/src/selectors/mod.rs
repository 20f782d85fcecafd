//! Label and field selectors of lists and watches.

mod field;
mod label;

pub use field::FieldSelector;
pub use label::LabelSelector;
