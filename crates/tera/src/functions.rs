//! The functions of Go templates under their names, as functions and as filters of Tera.

use sluice_template::{Callable, Stage, callables};
use tera::{Kwargs, State, Tera, Value};

use crate::session::call;

/// Names of Tera's own filters that mean the function of Go templates here.
pub(crate) const REPLACED: [&str; 17] = [
    "default", "first", "get", "indent", "int", "join", "keys", "last", "lower", "replace", "reverse",
    "round", "split", "title", "trim", "upper", "values",
];

/// A Tera without templates that knows the functions of a stage.
pub(crate) fn base(stage: Stage) -> Tera {
    let mut tera = Tera::new();
    tera.autoescape_on(Vec::<&str>::new());
    for function in callables(stage) {
        register(&mut tera, function);
    }
    tera
}

fn register(tera: &mut Tera, function: Callable) {
    let name = function.name();
    tera.register_function(name, move |kwargs: Kwargs, _: &State| call(function, None, &kwargs));
    tera.register_filter(name, move |value: Value, kwargs: Kwargs, _: &State| {
        call(function, Some(&value), &kwargs)
    });
}
