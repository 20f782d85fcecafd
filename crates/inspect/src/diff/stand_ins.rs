//! What stands in for the values of Secrets while a difference is built. Who asks for one writes the templates, and a
//! template may copy what it reads to wherever it likes: so no template reads a value.
//!
//! ```text
//! Secret ─► hide ─► stand-ins, which whoever reads the Secret finds
//!                       └─► content, values, patches: opened for the render alone, and covered again leaf by leaf
//! ```
//!
//! A value has the same stand-in wherever it stands in the same place of the same Secret, so that a change of it is seen. In
//! another place, or in the answer to another question, it has another one: nobody finds a value by sending a list of guesses
//! along.

mod covered;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sluice_api::model::SECRET_TYPE;
use sluice_api::object;
use sluice_renderer_core::{Error, ReadAs, Result, Veil};

/// Numbers of charts have numbers as stand-ins, which a chart may count to.
const COUNTABLE: u64 = 9_999;

/// Makes stand-ins, by a key that nobody knows.
#[derive(Default)]
pub(super) struct StandIns {
    key: RandomState,
    /// Texts that a render may open, by their stand-ins.
    sealed: Mutex<HashMap<String, Sealed>>,
}

/// A text, and where it stands.
#[derive(Clone)]
struct Sealed {
    place: String,
    text: Arc<str>,
}

// === impl StandIns ===

impl StandIns {
    /// The object without the values of a Secret; any other one as it is.
    pub(super) fn hide(&self, mut object: Value) -> Value {
        if object["kind"] == "Secret" {
            self.hide_values("", &mut object);
            // What was applied last is kept there by kubectl, values included.
            let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
            if let Some(annotations) = annotations {
                annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
            }
        }
        object
    }

    /// Replaces what a Secret holds; `from` is the text that it is written in.
    fn hide_values(&self, from: &str, object: &mut Value) {
        let is_content = object::text(object, &["type"]) == SECRET_TYPE;
        let place = format!("{from} {}/{}", object::namespace(object), object::name(object));
        for (field, encoded) in [("data", true), ("stringData", false)] {
            let values = object.get_mut(field).filter(|values| !values.is_null());
            let Some(values) = values else { continue };
            let Some(values) = values.as_object_mut() else {
                *values = self.stand_in(&place, &values.to_string()).into();
                continue;
            };
            for (key, value) in values {
                let place = format!("{place} {key}");
                let shown = match plain(value, encoded) {
                    Some(text) if is_content => self.seal(place, &text),
                    Some(text) => self.stand_in(&place, &text),
                    None => self.stand_in(&place, &value.to_string()),
                };
                *value = if encoded { STANDARD.encode(shown) } else { shown }.into();
            }
        }
    }

    fn stand_in(&self, place: &str, value: &str) -> String {
        format!("masked-{:016x}", self.key.hash_one((place, value)))
    }

    fn countable(&self, place: &str, value: &str) -> u64 {
        1 + self.key.hash_one((place, value)) % COUNTABLE
    }

    /// A stand-in that a render may open.
    fn seal(&self, place: String, text: &str) -> String {
        let shown = self.stand_in(&place, text);
        self.lock().entry(shown.clone()).or_insert_with(|| Sealed { place, text: text.into() });
        shown
    }

    fn find(&self, sealed: &str) -> Option<Sealed> {
        self.lock().get(sealed).cloned()
    }

    /// What is sealed, and what has become of it.
    fn opened(&self, sealed: &str, rendered: Result<String>) -> Result<(Sealed, String)> {
        let limit = rendered.as_ref().is_err_and(Error::is_limit);
        self.find(sealed).zip(rendered.ok()).ok_or_else(|| unreadable(sealed, limit))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Sealed>> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StandIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandIns").finish_non_exhaustive()
    }
}

// === impl Veil for StandIns ===

impl Veil for StandIns {
    fn open(&self, sealed: &str) -> Option<Arc<str>> {
        self.find(sealed).map(|found| found.text)
    }

    fn close(&self, sealed: &str, rendered: Result<String>) -> Result<String> {
        let (found, text) = self.opened(sealed, rendered)?;
        Ok(self.seal(found.place, &text))
    }

    fn cover(&self, sealed: &str, read_as: ReadAs, rendered: Result<String>) -> Result<String> {
        let (found, text) = self.opened(sealed, rendered)?;
        self.covered(&found.place, read_as, &text).ok_or_else(|| unreadable(sealed, false))
    }
}

/// What is said of a text that cannot be told apart into leaves: the whole of it has one stand-in.
fn unreadable(sealed: &str, limit: bool) -> Error {
    let text = format!("{sealed} stands for what cannot be rendered or read; `sluice check` says why");
    Error::Covered { text, limit }
}

/// A value of `data` or `stringData` as text.
fn plain(value: &Value, encoded: bool) -> Option<String> {
    let text = value.as_str()?;
    if encoded { String::from_utf8(STANDARD.decode(text).ok()?).ok() } else { Some(text.to_owned()) }
}

#[cfg(test)]
mod tests;
