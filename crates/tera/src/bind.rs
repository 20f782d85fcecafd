//! Named arguments become positional ones.
//!
//! Tera names every argument; Go templates name none and pass a piped value last. So every parameter is named as in
//! its documentation, and a piped value goes to the last parameter that is not named.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use sluice_template::Callable;

/// The arguments in the order of the parameters.
///
/// # Errors
/// The argument that is missing or unknown, and those that there are.
pub(crate) fn bind(
    function: Callable,
    piped: Option<Json>,
    mut named: BTreeMap<String, Json>,
) -> Result<Vec<Json>, String> {
    let params = function.params();
    if let Some(unknown) = named.keys().find(|name| !params.contains(&name.as_str())) {
        return Err(format!("unknown argument `{unknown}`; {}", takes(function)));
    }
    let free = params.iter().rposition(|name| !named.contains_key(*name));
    let (mut values, mut piped) = (Vec::with_capacity(params.len()), piped);
    for (at, name) in params.iter().enumerate() {
        let rest = function.variadic() && at + 1 == params.len();
        match named.remove(*name) {
            Some(Json::Array(items)) if rest => values.extend(items),
            Some(_) if rest => return Err(format!("argument `{name}` takes a list; {}", takes(function))),
            Some(value) => values.push(value),
            None if free == Some(at) && piped.is_some() => values.extend(piped.take()),
            None if rest => {}
            None => return Err(format!("missing argument `{name}`; {}", takes(function))),
        }
    }
    match piped {
        Some(value) if function.variadic() => values.push(value),
        Some(_) => return Err(format!("no argument is left for the piped value; {}", takes(function))),
        None => {}
    }
    Ok(values)
}

fn takes(function: Callable) -> String {
    match function.params() {
        [] => format!("{} takes none", function.name()),
        params => format!("{} takes {}", function.name(), params.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;
    use sluice_template::{Stage, callables};

    use super::*;

    fn bound(name: &str, piped: Option<Json>, named: Json) -> Result<Json, String> {
        let function = callables(Stage::Event).into_iter().find(|f| f.name() == name).unwrap();
        let named = named.as_object().unwrap().clone().into_iter().collect();
        bind(function, piped, named).map(Json::Array)
    }

    #[test]
    fn a_piped_value_is_the_last_parameter_that_is_not_named() {
        assert_eq!(bound("indent", Some(json!("t")), json!({"spaces": 4})).unwrap(), json!([4, "t"]));
        assert_eq!(
            bound("omit", Some(json!({})), json!({"keys": ["a", "b"]})).unwrap(),
            json!([{}, "a", "b"])
        );
        assert_eq!(bound("default", Some(json!("")), json!({"default": 1})).unwrap(), json!([1, ""]));
    }

    #[test]
    fn a_list_fills_a_parameter_that_repeats_and_a_piped_value_follows_it() {
        assert_eq!(
            bound("printf", Some(json!(2)), json!({"format": "%d%d", "args": [1]})).unwrap(),
            json!(["%d%d", 1, 2])
        );
        assert_eq!(bound("add", None, json!({"values": [1, 2]})).unwrap(), json!([1, 2]));
        assert_eq!(bound("add", None, json!({})).unwrap(), json!([]));
    }

    #[test]
    fn mistakes_name_the_argument_and_the_remedy() {
        let wrong = |piped, named| bound("indent", piped, named).unwrap_err();
        assert_eq!(wrong(None, json!({"width": 4})), "unknown argument `width`; indent takes spaces, text");
        assert_eq!(wrong(None, json!({"spaces": 4})), "missing argument `text`; indent takes spaces, text");
        let full = json!({"spaces": 4, "text": ""});
        assert_eq!(
            wrong(Some(json!("t")), full),
            "no argument is left for the piped value; indent takes spaces, text"
        );
        assert_eq!(
            bound("add", None, json!({"values": 1})).unwrap_err(),
            "argument `values` takes a list; add takes values"
        );
    }
}
