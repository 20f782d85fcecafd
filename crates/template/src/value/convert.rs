//! From the input to values: one level at a time, without a copy.

use serde_json::{Number, Value as Json};

use super::{IntTy, List, ListTy, Map, MapTy, Record, Str, Value};
use crate::Data;

impl<'a> From<&'a Json> for Value<'a> {
    fn from(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(b) => Self::Bool(*b),
            Json::Number(n) => from_number(n),
            Json::String(s) => Self::Str(Str::Ref(s.as_bytes())),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(map) => Self::Map(Map::Json(map)),
        }
    }
}

fn from_number<'a>(n: &Number) -> Value<'a> {
    match n.as_i64() {
        Some(i) => Value::int64(i),
        None => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
    }
}

impl<'a> From<&'a Data<'a>> for Value<'a> {
    fn from(data: &'a Data<'a>) -> Self {
        match data {
            Data::Json(json) => Self::from(*json),
            Data::Values(map) => Self::Map(Map::Values(map)),
            Data::Map(map) => Self::Map(Map::Data(map)),
            Data::List(items) => Self::List(List::from_data(items)),
            Data::Struct(name, fields) => Self::Record(Record { name, fields }),
            Data::Str(s) => Self::Str(Str::Ref(s.as_bytes())),
            Data::Int(i) => Self::int64(*i),
            Data::PlainInt(i) => Self::Int(IntTy::Int, *i),
            Data::Bool(b) => Self::Bool(*b),
            Data::Null => Self::Nil,
            Data::Texts(map) => {
                let entries = map.iter().map(|(key, text)| (Str::from(key.as_str()), Self::from(text)));
                Self::Map(Map::own(MapTy::Strings, entries.collect()))
            }
            Data::NilTexts => Self::Map(Map::Nil(MapTy::Strings)),
            Data::Files(files) => Self::Map(Map::Files(files)),
            Data::Versions(items) => Self::List(List::Data(items, ListTy::Versions)),
            Data::Turn(..) => data.current().map_or(Self::Nil, Self::from),
        }
    }
}
