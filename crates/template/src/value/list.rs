//! Lists: borrowed from the input, or computed with Go's element type.

use std::{cell::RefCell, rc::Rc};

use serde_json::Value as Json;

use super::{UintTy, Value, capacity};
use crate::Data;

/// The element type of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListTy {
    /// `[]interface {}`
    Any,
    /// `[]string`
    Strings,
    /// `[]int`
    Ints,
    /// `[]uint8`
    Bytes,
    /// `[][]interface {}`
    Lists,
    /// `[]map[string]interface {}`
    Maps,
    /// Helm's `VersionSet`.
    Versions,
    /// A slice of a struct of the input.
    Structs(&'static str),
}

/// A Go slice.
#[derive(Debug, Clone)]
pub(crate) enum List<'a> {
    Nil(ListTy),
    Json(&'a [Json]),
    /// A part of a list of the input, or more than it.
    Window(Window<'a>),
    Data(&'a [Data<'a>], ListTy),
    /// Bytes of the input.
    Raw(&'a [u8]),
    Own(Rc<OwnList<'a>>),
}

/// So many elements of a list of the input, and how many it could have: those that the input does not have are nil.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'a> {
    /// From the first element of this part to the last of the list.
    rest: &'a [Json],
    len: usize,
    capacity: usize,
}

/// A computed list. Only `sortAlpha` changes one in place.
#[derive(Debug)]
pub(crate) struct OwnList<'a> {
    pub(crate) ty: ListTy,
    pub(crate) items: RefCell<Vec<Value<'a>>>,
}

// === impl List ===

impl<'a> List<'a> {
    pub(crate) fn own(ty: ListTy, items: Vec<Value<'a>>) -> Self {
        Self::Own(Rc::new(OwnList { ty, items: RefCell::new(items) }))
    }

    pub(crate) fn from_data(items: &'a [Data<'a>]) -> Self {
        let ty = match items.first() {
            Some(Data::Struct(name, _)) => ListTy::Structs(name),
            Some(Data::Json(Json::Object(_)) | Data::Map(_)) => ListTy::Maps,
            _ => ListTy::Any,
        };
        Self::Data(items, ty)
    }

    pub(crate) fn ty(&self) -> ListTy {
        match self {
            Self::Nil(ty) | Self::Data(_, ty) => *ty,
            Self::Json(_) | Self::Window(_) => ListTy::Any,
            Self::Raw(_) => ListTy::Bytes,
            Self::Own(own) => own.ty,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Nil(_) => 0,
            Self::Json(items) => items.len(),
            Self::Window(window) => window.len,
            Self::Data(items, _) => items.len(),
            Self::Raw(bytes) => bytes.len(),
            Self::Own(own) => own.items.borrow().len(),
        }
    }

    pub(crate) fn get(&self, at: usize) -> Option<Value<'a>> {
        match self {
            Self::Nil(_) => None,
            Self::Json(items) => items.get(at).map(Value::from),
            Self::Window(window) if at >= window.len => None,
            Self::Window(window) => Some(window.rest.get(at).map_or(Value::Nil, Value::from)),
            Self::Data(items, _) => items.get(at).map(Value::from),
            Self::Raw(bytes) => bytes.get(at).map(|b| Value::Uint(UintTy::Uint8, u64::from(*b))),
            Self::Own(own) => own.items.borrow().get(at).cloned(),
        }
    }

    /// The bytes of a list of bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Raw(bytes) => bytes.to_vec(),
            _ => self.to_vec().iter().map(|v| v.as_int() as u8).collect(),
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<Value<'a>> {
        (0..self.len()).filter_map(|i| self.get(i)).collect()
    }

    /// How many elements it has room for. Go lets a template slice beyond the length, and see nil there.
    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::Json(items) => capacity::decoded(items.len()),
            Self::Window(window) => window.capacity,
            _ => self.len(),
        }
    }

    /// The part `[from, to)` with room up to `max`; the caller has checked the bounds.
    pub(crate) fn slice(&self, from: usize, to: usize, max: usize) -> Self {
        let window = |items: &'a [Json]| {
            let rest = items.get(from..).unwrap_or_default();
            Self::Window(Window { rest, len: to - from, capacity: max - from })
        };
        match self {
            Self::Nil(ty) => Self::Nil(*ty),
            Self::Json(items) => window(items),
            Self::Window(part) => window(part.rest),
            Self::Data(items, ty) => items.get(from..to).map_or(Self::Nil(*ty), |part| Self::Data(part, *ty)),
            Self::Raw(bytes) => Self::Raw(bytes.get(from..to).unwrap_or_default()),
            Self::Own(own) => {
                let part = own.items.borrow().get(from..to).map(<[_]>::to_vec);
                Self::own(own.ty, part.unwrap_or_default())
            }
        }
    }

    /// Whether an element has the static type `interface {}`.
    pub(crate) fn elements_are_interfaces(&self) -> bool {
        self.ty() == ListTy::Any
    }
}

impl Drop for OwnList<'_> {
    fn drop(&mut self) {
        super::deep::dismantle(std::mem::take(self.items.get_mut()));
    }
}
