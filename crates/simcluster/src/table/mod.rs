//! Tables: the columns that `kubectl get` prints.

mod cells;
mod columns;
mod duration;
mod json_path;
mod network;
mod view;
mod workloads;

use bytes::BytesMut;
use serde_json::{Value, json};

use crate::kinds::Endpoint;
use crate::object::Object;
use json_path::JsonPath;

/// One column of a custom resource.
#[derive(Debug)]
pub struct Column {
    name: Box<str>,
    kind: Box<str>,
    format: Box<str>,
    description: Box<str>,
    priority: i64,
    path: JsonPath,
}

/// What the rows carry beside the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Include {
    /// The metadata of the object.
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

// === impl Column ===

impl Column {
    /// Reads `additionalPrinterColumns`; without any, the age is shown.
    pub fn of_crd(columns: Option<&Value>) -> Vec<Self> {
        let read = columns
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Self::read).collect::<Vec<_>>());
        read.filter(|list| !list.is_empty()).unwrap_or_else(|| {
            let age = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"});
            Self::read(&age).into_iter().collect()
        })
    }

    fn read(column: &Value) -> Option<Self> {
        let text =
            |field: &str| Box::<str>::from(column.get(field).and_then(Value::as_str).unwrap_or_default());
        Some(Self {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description: text("description"),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
            path: JsonPath::parse(column.get("jsonPath")?.as_str()?),
        })
    }

    fn definition(&self) -> Value {
        definition(&self.name, &self.kind, &self.format, &self.description, self.priority)
    }

    fn cell(&self, object: &Object) -> Value {
        let found = self.path.find(object.body());
        match (&*self.kind, found) {
            (_, None) => Value::Null,
            ("date", Some(value)) => value.as_str().map_or(Value::Null, |text| duration::age(text).into()),
            ("integer" | "number" | "boolean", Some(value)) => value.clone(),
            (_, Some(Value::String(text))) => text.clone().into(),
            (_, Some(value)) => value.to_string().into(),
        }
    }
}

/// The `columnDefinitions` of a resource.
pub fn definitions(endpoint: &Endpoint) -> Value {
    let name = definition("Name", "string", "name", "Name must be unique within a namespace.", 0);
    let mut columns = vec![name];
    if endpoint.def.custom {
        columns.extend(endpoint.version().columns.iter().map(Column::definition));
    } else {
        let known = columns::columns(&endpoint.def.kind).iter();
        columns.extend(known.map(|&(name, kind, priority)| definition(name, kind, "", "", priority)));
    }
    Value::Array(columns)
}

/// One row.
pub fn row(endpoint: &Endpoint, object: &Object, include: Include) -> Value {
    let mut cells = vec![Value::from(object.name())];
    if endpoint.def.custom {
        cells.extend(endpoint.version().columns.iter().map(|column| column.cell(object)));
    } else {
        cells.extend(cells::cells(&endpoint.def.kind, object));
    }
    let attached = match include {
        Include::None => Value::Null,
        Include::Metadata => partial_metadata(object),
        Include::Object => object.to_value(endpoint.api_version(), &endpoint.def.kind),
    };
    json!({"cells": cells, "object": attached})
}

/// The object reduced to its metadata.
pub fn partial_metadata(object: &Object) -> Value {
    let mut whole = object.to_value("meta.k8s.io/v1", "PartialObjectMetadata");
    if let Value::Object(map) = &mut whole {
        map.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
    }
    whole
}

/// Appends the JSON of a value.
pub fn write(value: &Value, out: &mut BytesMut) {
    out.extend_from_slice(value.to_string().as_bytes());
}

fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
}
