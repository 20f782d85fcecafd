//! Reading fields out of an object, with errors that name them.

use serde_json::Value;

use crate::error::{FieldError, TextError};
use crate::object;
use crate::selector::{Requirement, Selector};

/// A value inside an object, and where it is.
#[derive(Clone)]
pub(super) struct Field<'a> {
    root: &'a Value,
    value: Option<&'a Value>,
    path: String,
}

impl<'a> Field<'a> {
    /// The `spec` of `root`.
    pub(super) fn spec(root: &'a Value) -> Self {
        Self { root, value: root.get("spec"), path: "spec".into() }
    }

    /// The `status` of `root`.
    pub(super) fn status(root: &'a Value) -> Self {
        Self { root, value: root.get("status"), path: "status".into() }
    }

    /// The field `key` below this one.
    pub(super) fn get(&self, key: &str) -> Self {
        let value = self.value.and_then(|value| value.get(key)).filter(|value| !value.is_null());
        Self { root: self.root, value, path: format!("{}.{key}", self.path) }
    }

    /// The map `key` below this one. Of what is something else nothing would be read.
    pub(super) fn map(&self, key: &str) -> Result<Self, FieldError> {
        let map = self.get(key);
        if map.value.is_none_or(Value::is_object) { Ok(map) } else { Err(map.error("must be a map")) }
    }

    /// The raw value, if there is one.
    pub(super) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Where it is, such as `spec.resourceSelectors[0].evaluate`.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// An error about this field.
    pub(super) fn error(&self, reason: impl Into<TextError>) -> FieldError {
        FieldError::new(object::describe(self.root), self.path.clone(), reason)
    }

    /// A string; missing is empty.
    pub(super) fn text(&self) -> Result<String, FieldError> {
        match self.value {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(self.error(format!("{other} is not a string; quote it"))),
        }
    }

    /// A string that must be there.
    pub(super) fn required_text(&self) -> Result<String, FieldError> {
        match self.text()? {
            text if text.is_empty() => Err(self.error("is required and must not be empty")),
            text => Ok(text),
        }
    }

    /// A boolean; missing is `false`.
    pub(super) fn flag(&self) -> Result<bool, FieldError> {
        match self.value {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.error(format!("{other} is not true or false"))),
        }
    }

    /// A whole number of at least 1; missing is `default`.
    pub(super) fn positive(&self, default: i32) -> Result<i32, FieldError> {
        let Some(value) = self.value else { return Ok(default) };
        let number =
            value.as_i64().and_then(|number| i32::try_from(number).ok()).filter(|&number| number >= 1);
        number.ok_or_else(|| self.error(format!("{value} is not a whole number of at least 1")))
    }

    /// The items of a list; missing is empty.
    pub(super) fn items(&self) -> Result<Vec<Self>, FieldError> {
        let list = match self.value {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return Err(self.error("must be a list")),
        };
        let item = |(index, value)| Self {
            root: self.root,
            value: Some(value),
            path: format!("{}[{index}]", self.path),
        };
        Ok(list.iter().enumerate().map(item).collect())
    }

    /// A selector in either of its forms; `None` when the field is missing.
    pub(super) fn selector(&self) -> Result<Option<Selector>, FieldError> {
        let read = |value| Selector::from_value(value).map_err(|reason| self.error(reason));
        self.value.map(read).transpose()
    }

    /// What a list of `labelFilters` asks of labels, besides what is asked of them already.
    pub(super) fn add_filters(&self, labels: &mut Selector) -> Result<(), FieldError> {
        for filter in self.items()? {
            let (key, operation) =
                (filter.get("key").required_text()?, filter.get("operation").required_text()?);
            let value = filter.get("value").text()?;
            labels.and(Requirement::filter(&key, &operation, &value).map_err(|reason| filter.error(reason))?);
        }
        Ok(())
    }

    /// Whether it says anything: false, and what is empty, do not.
    pub(super) fn is_set(&self) -> bool {
        match self.value {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Object(map)) => !map.is_empty(),
            Some(Value::Bool(true) | Value::Number(_)) => true,
        }
    }

    /// Refuses a field that this version does not act upon: ignoring it would do something else than asked.
    pub(super) fn refuse(&self, what: &str) -> Result<(), FieldError> {
        let empty = match self.value {
            None => true,
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::String(text)) => text.is_empty(),
            Some(_) => false,
        };
        if empty { Ok(()) } else { Err(self.error(what)) }
    }
}
