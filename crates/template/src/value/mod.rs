//! What a template computes with: Go's kinds, borrowed from the input as long as possible.

mod capacity;
pub(crate) mod convert;
pub(crate) mod deep;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod object;
pub(crate) mod string;
pub(crate) mod truth;
pub(crate) mod types;

use std::rc::Rc;

pub(crate) use list::{List, ListTy};
pub(crate) use map::{Map, MapTy};
pub(crate) use object::{Certificate, Object, Record, Time};
pub(crate) use string::Str;

/// Go's signed integer types that templates meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntTy {
    Int,
    Int64,
    Duration,
    Month,
    Weekday,
}

/// Go's unsigned integer types that templates meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UintTy {
    Uint8,
    Uint32,
    Uint64,
}

/// A value during a render.
#[derive(Debug, Clone, Default)]
pub(crate) enum Value<'a> {
    /// No value at all: an absent map key, or an untyped `nil`.
    #[default]
    Invalid,
    /// A nil interface: a JSON null.
    Nil,
    Bool(bool),
    Int(IntTy, i64),
    Uint(UintTy, u64),
    Float(f64),
    Complex(f64, f64),
    Str(Str<'a>),
    List(List<'a>),
    Map(Map<'a>),
    /// A struct of the input, such as an object reference.
    Record(Record<'a>),
    /// A Go object with methods: a time, a version, a certificate.
    Object(Rc<Object>),
}

// === impl Value ===

impl<'a> Value<'a> {
    pub(crate) fn int(i: i64) -> Self {
        Self::Int(IntTy::Int, i)
    }

    pub(crate) fn int64(i: i64) -> Self {
        Self::Int(IntTy::Int64, i)
    }

    pub(crate) fn len(n: usize) -> Self {
        Self::int(i64::try_from(n).unwrap_or(i64::MAX))
    }

    pub(crate) fn string(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Str(Str::from(bytes.into()))
    }

    pub(crate) fn text(text: &'a str) -> Self {
        Self::Str(Str::Ref(text.as_bytes()))
    }

    /// Whether Go would see no value or a nil interface.
    pub(crate) fn is_nil(&self) -> bool {
        matches!(self, Self::Invalid | Self::Nil)
    }

    /// The bytes of a string; empty for anything else.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Str(s) => s.bytes(),
            _ => b"",
        }
    }

    /// The integer of any integer kind.
    pub(crate) fn as_int(&self) -> i64 {
        match self {
            Self::Int(_, i) => *i,
            Self::Uint(_, u) => *u as i64,
            _ => 0,
        }
    }
}
