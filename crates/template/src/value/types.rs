//! Go's names of types and kinds.

use std::borrow::Cow;

use super::{IntTy, List, ListTy, Map, MapTy, Object, UintTy, Value};

// === impl IntTy, UintTy, ListTy, MapTy ===

impl IntTy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Duration => "time.Duration",
            Self::Month => "time.Month",
            Self::Weekday => "time.Weekday",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Int | Self::Month | Self::Weekday => "int",
            Self::Int64 | Self::Duration => "int64",
        }
    }
}

impl UintTy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uint8 => "uint8",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
        }
    }
}

impl ListTy {
    pub(crate) fn name(self) -> Cow<'static, str> {
        match self {
            Self::Any => "[]interface {}".into(),
            Self::Strings => "[]string".into(),
            Self::Ints => "[]int".into(),
            Self::Bytes => "[]uint8".into(),
            Self::Lists => "[][]interface {}".into(),
            Self::Maps => "[]map[string]interface {}".into(),
            Self::Versions => "common.VersionSet".into(),
            Self::Structs(name) => format!("[]{name}").into(),
        }
    }
}

impl MapTy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "map[string]interface {}",
            Self::Values => "common.Values",
            Self::Strings => "map[string]string",
            Self::Files => "engine.files",
        }
    }

    /// Whether the elements are interfaces.
    pub(crate) fn of_any(self) -> bool {
        matches!(self, Self::Any | Self::Values)
    }

    /// What Go's `reflect.Zero` of the element type is.
    pub(crate) fn zero<'a>(self) -> Value<'a> {
        match self {
            Self::Any | Self::Values => Value::Nil,
            Self::Strings => Value::text(""),
            Self::Files => Value::List(List::Nil(ListTy::Bytes)),
        }
    }
}

// === impl Value ===

impl Value<'_> {
    /// The value's dynamic type; a nil interface has only the static one.
    pub(crate) fn type_name(&self) -> Cow<'static, str> {
        match self {
            Self::Invalid => "<nil>".into(),
            Self::Nil => "interface {}".into(),
            Self::Bool(_) => "bool".into(),
            Self::Int(ty, _) => ty.name().into(),
            Self::Uint(ty, _) => ty.name().into(),
            Self::Float(_) => "float64".into(),
            Self::Complex(..) => "complex128".into(),
            Self::Str(_) => "string".into(),
            Self::List(list) => list.ty().name(),
            Self::Map(map) => map.ty().name().into(),
            Self::Record(record) => record.name.into(),
            Self::Object(object) => object.type_name().into(),
        }
    }

    /// `reflect.Kind` as sprig's `kindOf` prints it.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Invalid | Self::Nil => "invalid",
            Self::Bool(_) => "bool",
            Self::Int(ty, _) => ty.kind(),
            Self::Uint(ty, _) => ty.name(),
            Self::Float(_) => "float64",
            Self::Complex(..) => "complex128",
            Self::Str(_) => "string",
            Self::List(_) => "slice",
            Self::Map(_) => "map",
            Self::Record(_) => "struct",
            Self::Object(object) => match **object {
                Object::Version(_) => "ptr",
                _ => "struct",
            },
        }
    }

    /// Whether Go calls the value nil although it has a type.
    pub(crate) fn is_typed_nil(&self) -> bool {
        matches!(self, Self::List(List::Nil(_)) | Self::Map(Map::Nil(_)))
    }
}

// === impl Object ===

impl Object {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Time(_) => "time.Time",
            Self::Version(_) => "*semver.Version",
            Self::Certificate(_) => "sprig.certificate",
        }
    }
}
