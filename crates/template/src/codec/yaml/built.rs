//! What is made of a document while it is read: values, or nothing where only its errors count.

use std::{borrow::Cow, collections::BTreeMap};

use super::{decode::Numbers, resolve::Scalar};
use crate::{
    exec::{Cx, Fail},
    text::lossy,
    value::{Str, UintTy, Value},
};

/// What a node becomes.
pub(super) trait Built<'a>: Sized {
    /// A mapping as it grows.
    type Entries: Default;

    fn scalar(cx: &mut Cx<'a>, scalar: &Scalar, text: &[u8], numbers: Numbers) -> Result<Self, Fail>;
    fn list(cx: &mut Cx<'a>, items: Vec<Self>) -> Result<Self, Fail>;
    fn map(cx: &mut Cx<'a>, map: Self::Entries) -> Result<Self, Fail>;
    /// Sets an entry; a later one of the same key counts.
    fn insert(cx: &mut Cx<'a>, map: &mut Self::Entries, key: Cow<'_, [u8]>, value: Self) -> Result<(), Fail>;
}

/// A node that was read for its errors.
pub(super) struct Passed {
    /// Whether there is a number in it that JSON does not have.
    pub(super) unsupported: bool,
}

impl<'a> Built<'a> for Value<'a> {
    type Entries = BTreeMap<Str<'a>, Self>;

    fn scalar(cx: &mut Cx<'a>, scalar: &Scalar, text: &[u8], numbers: Numbers) -> Result<Self, Fail> {
        Ok(match *scalar {
            Scalar::Null => Self::Nil,
            Scalar::Bool(b) => Self::Bool(b),
            Scalar::Int(i) if numbers == Numbers::Kept => Self::int64(i),
            Scalar::Int(i) => Self::Float(i as f64),
            Scalar::Uint(u) if numbers == Numbers::Kept => Self::Uint(UintTy::Uint64, u),
            Scalar::Uint(u) => Self::Float(u as f64),
            Scalar::Float(f) => Self::Float(f),
            Scalar::Time(_) | Scalar::Str => return cx.string(lossy(text)),
        })
    }

    fn list(cx: &mut Cx<'a>, items: Vec<Self>) -> Result<Self, Fail> {
        cx.any_list(items)
    }

    fn map(cx: &mut Cx<'a>, map: Self::Entries) -> Result<Self, Fail> {
        cx.any_map(map)
    }

    fn insert(cx: &mut Cx<'a>, map: &mut Self::Entries, key: Cow<'_, [u8]>, value: Self) -> Result<(), Fail> {
        let key = cx.str(key.into_owned())?;
        map.insert(key, value);
        Ok(())
    }
}

impl<'a> Built<'a> for Passed {
    type Entries = bool;

    fn scalar(_: &mut Cx<'a>, scalar: &Scalar, _: &[u8], _: Numbers) -> Result<Self, Fail> {
        Ok(Self { unsupported: matches!(scalar, Scalar::Float(f) if !f.is_finite()) })
    }

    fn list(_: &mut Cx<'a>, items: Vec<Self>) -> Result<Self, Fail> {
        Ok(Self { unsupported: items.iter().any(|item| item.unsupported) })
    }

    fn map(_: &mut Cx<'a>, unsupported: bool) -> Result<Self, Fail> {
        Ok(Self { unsupported })
    }

    fn insert(_: &mut Cx<'a>, map: &mut bool, _: Cow<'_, [u8]>, value: Self) -> Result<(), Fail> {
        *map |= value.unsupported;
        Ok(())
    }
}
