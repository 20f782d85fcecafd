//! The short way to a field: straight through the input, without values in between.
//!
//! It only answers where nothing can go wrong: plain maps of the input that nobody has
//! written to, and keys that exist. Everything else takes the long way, which knows the errors.

use serde_json::{Map as JsonMap, Value as Json};

use super::{Exec, Ref};
use crate::{
    Data,
    syntax::{NodeId, NodeKind, UNSET},
    value::{Map, Value},
};

/// A place in the input.
#[derive(Clone, Copy)]
enum InputLocation<'a> {
    Json(&'a Json),
    Data(&'a Data<'a>),
}

fn in_json<'a>(map: &'a JsonMap<String, Json>, key: &str) -> Option<InputLocation<'a>> {
    map.get(key).map(InputLocation::Json)
}

fn in_data<'a>(map: &'a [(&'a str, Data<'a>)], key: &str) -> Option<InputLocation<'a>> {
    map.iter().find(|(name, _)| *name == key).map(|(_, data)| InputLocation::Data(data))
}

// === impl InputLocation ===

impl<'a> InputLocation<'a> {
    fn get(self, key: &str) -> Option<Self> {
        match self {
            Self::Data(data @ Data::Turn(..)) => Self::Data(data.current()?).get(key),
            Self::Json(Json::Object(map)) | Self::Data(Data::Json(Json::Object(map))) => in_json(map, key),
            Self::Data(Data::Values(map)) => in_json(map, key),
            Self::Data(Data::Map(map)) => in_data(map, key),
            _ => None,
        }
    }

    fn value(self) -> Value<'a> {
        match self {
            Self::Json(json) => Value::from(json),
            Self::Data(data) => Value::from(data),
        }
    }
}

// === impl Exec ===

impl<'a> Exec<'a> {
    /// The value under the fields, if the short way leads there.
    pub(crate) fn short_path(&self, value: &Value<'a>, fields: &[Box<str>]) -> Option<Value<'a>> {
        if !self.cx.maps.is_untouched() {
            return None;
        }
        let (first, rest) = fields.split_first()?;
        let mut place = match value {
            Value::Map(Map::Json(map) | Map::Values(map)) => in_json(map, first)?,
            Value::Map(Map::Data(map)) => in_data(map, first)?,
            _ => return None,
        };
        for field in rest {
            place = place.get(field)?;
        }
        Some(place.value())
    }

    /// The value of a pipeline that is only a field or a field of a variable.
    pub(crate) fn short_pipeline(&self, dot: &Ref<'a>, pipe: NodeId) -> Option<Value<'a>> {
        let arena = self.program.arena();
        let NodeKind::Pipe { decl, cmds, .. } = arena.kind(pipe) else { return None };
        let (true, [cmd]) = (decl.is_empty(), &**cmds) else { return None };
        let NodeKind::Command(args) = arena.kind(*cmd) else { return None };
        let [only] = &**args else { return None };
        match arena.kind(*only) {
            NodeKind::Field(fields) => self.short_path(&dot.value, fields),
            NodeKind::Variable { slot, fields, .. } if *slot != UNSET => {
                let variable = &self.vars[self.base + *slot as usize].value;
                if fields.is_empty() { Some(variable.clone()) } else { self.short_path(variable, fields) }
            }
            _ => None,
        }
    }
}
