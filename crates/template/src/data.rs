//! What a template sees as dot: borrowed, so nothing is converted before a render.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::ser::{Serialize, Serializer};
use serde_json::{Map as JsonMap, Value as Json};

/// The root of a render, or a part of it. JSON integers are Go's `int64`, floats `float64`.
#[derive(Debug, Clone)]
pub enum Data<'a> {
    /// A decoded object, used in place.
    Json(&'a Json),
    /// The values of a chart: an object, which has a Go type of its own.
    Values(&'a JsonMap<String, Json>),
    /// A `map[string]interface {}`.
    Map(Vec<(&'a str, Data<'a>)>),
    /// A list. Its Go type follows its first element: objects are
    /// `[]map[string]interface {}`, structs `[]<type>`, anything else `[]interface {}`.
    List(Vec<Data<'a>>),
    /// A Go struct: its type name and its fields.
    ///
    /// A name that ends in `()` is a method, one that begins with a small letter is seen by nobody but printers.
    Struct(&'static str, Vec<(&'static str, Data<'a>)>),
    /// A string.
    Str(&'a str),
    /// An `int64`.
    Int(i64),
    /// An `int`.
    PlainInt(i64),
    /// A boolean.
    Bool(bool),
    /// A null.
    Null,
    /// A `map[string]string`.
    Texts(&'a JsonMap<String, Json>),
    /// A `map[string]string` that is nil.
    NilTexts,
    /// The files of a chart, sorted by name: a map of bytes with the methods Helm gives it.
    Files(&'a [(&'a str, &'a [u8])]),
    /// The API versions of a cluster: a list of texts with the method `Has`.
    Versions(Vec<Data<'a>>),
    /// The one of several whose turn it is. Out of range it is null.
    Turn(&'a [Data<'a>], &'a AtomicUsize),
}

impl<'a> Data<'a> {
    /// What stands for this: itself, or the one whose turn it is.
    pub(crate) fn current(&'a self) -> Option<&'a Self> {
        match self {
            Self::Turn(all, turn) => all.get(turn.load(Ordering::Relaxed)),
            other => Some(other),
        }
    }
}

// === impl Data ===

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(json) => json.serialize(serializer),
            Self::Values(map) | Self::Texts(map) => map.serialize(serializer),
            Self::Map(entries) => serializer.collect_map(entries.iter().map(|(key, value)| (key, value))),
            Self::List(items) => serializer.collect_seq(items),
            Self::Struct(_, fields) => serializer.collect_map(fields.iter().map(|(key, value)| (key, value))),
            Self::Str(text) => serializer.serialize_str(text),
            Self::Int(int) | Self::PlainInt(int) => serializer.serialize_i64(*int),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Null | Self::NilTexts => serializer.serialize_unit(),
            Self::Files(files) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                serializer.collect_map(files.iter().map(|(name, bytes)| (name, text(bytes))))
            }
            Self::Versions(items) => serializer.collect_seq(items),
            Self::Turn(..) => self.current().serialize(serializer),
        }
    }
}
