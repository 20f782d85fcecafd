//! From text to an arena of nodes: lexer, parser, and the nodes' own text for messages.

pub(crate) mod display;
pub(crate) mod lexer;
pub(crate) mod lexer_actions;
pub(crate) mod node;
pub(crate) mod number;
pub(crate) mod parser;
pub(crate) mod parser_blocks;
pub(crate) mod parser_pipes;

pub(crate) use node::{Arena, Decl, Ident, NodeId, NodeKind, Template, UNSET};
