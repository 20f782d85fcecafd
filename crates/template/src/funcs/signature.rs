//! Signatures as text, such as `trunc(length int, text string) string`.

use crate::value::{List, ListTy, Map, MapTy, Object, Value};

/// The Go type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ty {
    /// `interface {}`
    Any,
    /// `reflect.Value`: takes what is there, unchecked.
    Value,
    Str,
    Int,
    Int64,
    Uint32,
    Uint64,
    Float64,
    Bool,
    Map,
    List,
    Time,
    Duration,
    Version,
    Certificate,
}

/// A parsed signature.
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) params: Vec<Ty>,
    /// The names of the parameters, for engines that call by name.
    pub(crate) names: Vec<&'static str>,
    pub(crate) variadic: bool,
}

/// Parses a signature of the registration table. An unknown type is `interface {}`; the
/// reference page's test keeps the table free of them.
pub(crate) fn parse(text: &'static str) -> Signature {
    let (name, rest) = text.split_once('(').unwrap_or((text, ")"));
    let (params, _) = rest.rsplit_once(')').unwrap_or((rest, ""));
    let words: Vec<&str> = params.split(", ").filter(|p| !p.is_empty()).collect();
    let types = words.iter().map(|p| p.rsplit(' ').next().unwrap_or("any"));
    let variadic = words.last().is_some_and(|p| p.contains("..."));
    let params = types.map(|t| Ty::parse(t.trim_start_matches("...")).unwrap_or(Ty::Any)).collect();
    let names = words.iter().map(|p| p.split(' ').next().unwrap_or(p).trim_start_matches("...")).collect();
    Signature { name, params, names, variadic }
}

// === impl Ty ===

impl Ty {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "any" => Self::Any,
            "value" => Self::Value,
            "string" => Self::Str,
            "int" => Self::Int,
            "int64" => Self::Int64,
            "uint32" => Self::Uint32,
            "uint64" => Self::Uint64,
            "float64" => Self::Float64,
            "bool" => Self::Bool,
            "map" => Self::Map,
            "list" => Self::List,
            "time" => Self::Time,
            "duration" => Self::Duration,
            "version" => Self::Version,
            "certificate" => Self::Certificate,
            _ => return None,
        })
    }

    /// Go's name of the type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Value => "reflect.Value",
            Self::Str => "string",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float64 => "float64",
            Self::Bool => "bool",
            Self::Map => "map[string]interface {}",
            Self::List => "[]interface {}",
            Self::Time => "time.Time",
            Self::Duration => "time.Duration",
            Self::Version => "*semver.Version",
            Self::Certificate => "sprig.certificate",
        }
    }

    /// The zero value, for the types that can be nil.
    pub(crate) fn nil<'a>(self) -> Option<Value<'a>> {
        Some(match self {
            Self::Any => Value::Nil,
            Self::Value => Value::Invalid,
            Self::Map => Value::Map(Map::Nil(MapTy::Any)),
            Self::List => Value::List(List::Nil(ListTy::Any)),
            _ => return None,
        })
    }

    /// Whether a value's dynamic type is this type.
    pub(crate) fn accepts(self, value: &Value<'_>) -> bool {
        use crate::value::{IntTy, UintTy};
        match (self, value) {
            (Self::Any | Self::Value, _) => true,
            (Self::Str, Value::Str(_)) | (Self::Float64, Value::Float(_)) | (Self::Bool, Value::Bool(_)) => {
                true
            }
            (Self::Int, Value::Int(IntTy::Int, _)) | (Self::Int64, Value::Int(IntTy::Int64, _)) => true,
            (Self::Duration, Value::Int(IntTy::Duration, _)) => true,
            (Self::Uint32, Value::Uint(UintTy::Uint32, _)) => true,
            (Self::Uint64, Value::Uint(UintTy::Uint64, _)) => true,
            (Self::Map, Value::Map(map)) => map.ty().of_any(),
            (Self::List, Value::List(list)) => list.ty() == ListTy::Any,
            (Self::Time, Value::Object(o)) => matches!(**o, Object::Time(_)),
            (Self::Version, Value::Object(o)) => matches!(**o, Object::Version(_)),
            (Self::Certificate, Value::Object(o)) => matches!(**o, Object::Certificate(_)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_give_names_types_and_variadics() {
        let signature = parse("dig(path any, ...more any) any");
        assert_eq!(
            (signature.name, signature.params, signature.variadic),
            ("dig", vec![Ty::Any, Ty::Any], true)
        );
        let signature = parse("trunc(length int, text string) string");
        assert_eq!((signature.params, signature.variadic), (vec![Ty::Int, Ty::Str], false));
        assert_eq!(signature.names, ["length", "text"]);
        assert_eq!(parse("omit(map map, ...keys string) map").names, ["map", "keys"]);
        assert_eq!(parse("now() time").params, vec![]);
    }
}
