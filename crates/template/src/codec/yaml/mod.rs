//! YAML 1.1 as Go's libraries write and read it.
//!
//! There are two dialects: `sigs.k8s.io/yaml` prints objects as JSON first and then as
//! YAML with two spaces; `yaml.v3` prints the values themselves with four.

mod built;
mod characters;
pub(crate) mod decode;
pub(crate) mod emit_scalar;
pub(crate) mod emitter;
pub(crate) mod json_text;
pub(crate) mod order;
pub(crate) mod parser;
pub(crate) mod resolve;
pub(crate) mod scan_block;
pub(crate) mod scan_plain;
pub(crate) mod scan_quoted;
pub(crate) mod scan_structure;
pub(crate) mod scan_tags;
pub(crate) mod scanner;
pub(crate) mod tokens;
pub(crate) mod write;

pub(crate) use decode::{Numbers, documents, from_sigs, from_sigs_as, some_from_sigs};
pub(crate) use write::{to_pretty, to_sigs, to_v3};
