//! Go `text/template` with sprig and the Sveltos functions, in pure Rust.
//!
//! A [`Program`] is compiled once and rendered many times, straight on the decoded
//! object: [`Data`] borrows `serde_json` values and nothing is converted before a render.
//! The engine does no IO and reads no clock: the time and the source of randomness are in
//! [`Env`], every budget is in [`Limits`]. Output and error texts are those of Go.
//!
//! ```
//! use sluice_template::{Data, Env, Limits, Options, Program};
//!
//! let object = serde_json::json!({"metadata": {"name": "web"}});
//! let program = Program::compile("example", "name: {{ .Resource.metadata.name | upper }}", &Options::default())?;
//! let dot = Data::Map(vec![("Resource", Data::Json(&object))]);
//! assert_eq!(program.render(&dot, &Env::default(), &Limits::default())?, "name: WEB");
//! # Ok::<(), sluice_template::Error>(())
//! ```
//!
//! Engines for other template languages stand beside it: [`Engine`] is what they implement, and
//! [`Calls`] lets them call the same functions.
//!
//! The rooms: `syntax` (lexer, parser, arena), `exec` (the executor), `value` (what a
//! template computes with), `gofmt` (Go's `fmt`), `codec` (JSON, YAML, TOML), `funcs` (the
//! registration table and the built-ins), `sprig`, `sveltos` and `helm` (one file per family).
#![forbid(unsafe_code)]

mod cache;
mod calls;
mod codec;
mod data;
mod engine;
mod env;
mod error;
mod exec;
mod funcs;
mod gofmt;
mod helm;
mod limits;
mod options;
mod program;
mod set;
mod sprig;
mod sveltos;
mod syntax;
mod text;
mod value;

pub use cache::Cache;
pub use calls::{CallError, Callable, Calls, callables};
pub use codec::{Integers, check_json, fields_from_yaml, from_yaml, from_yaml_within, to_json, to_yaml};
pub use data::Data;
pub use engine::{Engine, NoEngine, Request};
pub use env::Env;
pub use error::{Error, ErrorKind};
pub use funcs::reference::reference_page;
pub use gofmt::float::format_float as format_go_float;
pub use limits::{Deadline, Limits, VALUE_DEPTH};
pub use options::{MissingKey, Options, Stage};
pub use program::Program;
pub use set::{Job, TemplateSet};
pub use sluice_text_error::TextError;
pub use sprig::go::{GoUrl, check_go_date, check_go_pattern, go_url};
pub use sprig::semver::{compare_versions, is_version, version_satisfies};
pub use text::quote::quoted as go_quoted;
