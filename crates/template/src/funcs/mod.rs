//! The registration table: every function's signature, code and one line of documentation.
//!
//! A family is a table of [`Row`]s in a file of its own. The signature is text, because the
//! same text is the documentation; it is parsed once, when the first template is compiled.

pub(crate) mod access;
pub(crate) mod builtins;
pub(crate) mod compare;
pub(crate) mod escape;
pub(crate) mod reference;
pub(crate) mod signature;

use std::{collections::HashMap, sync::LazyLock};

pub(crate) use signature::Ty;

use crate::{
    Options, Stage, codec,
    exec::{Cx, Fail},
    helm, sprig, sveltos,
    value::Value,
};

/// What a function answers.
pub(crate) type CallResult<'a> = Result<Value<'a>, Fail>;

/// A function's code. Arguments have passed the type check of its signature.
pub(crate) type Run = for<'a> fn(&mut Cx<'a>, &[Value<'a>]) -> CallResult<'a>;

/// A row of a family's table: signature, code, documentation.
pub(crate) type Row = (&'static str, Run, &'static str);

/// Functions the executor itself must run, because they evaluate arguments or templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    No,
    And,
    Or,
    Call,
    Include,
    Tpl,
}

/// A registered function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) params: Vec<Ty>,
    pub(crate) names: Vec<&'static str>,
    pub(crate) variadic: bool,
    pub(crate) run: Run,
    pub(crate) special: Special,
}

type Registry = HashMap<&'static str, Function>;

static PLAIN: LazyLock<Registry> =
    LazyLock::new(|| registry(&[&builtins::TABLE], &[&codec::TABLE, &sveltos::plain::TABLE]));
static SPRIG: LazyLock<Registry> =
    LazyLock::new(|| registry(&[&builtins::TABLE], &with_sprig(&[&sveltos::plain::TABLE])));
static EVENT: LazyLock<Registry> =
    LazyLock::new(|| registry(&[&builtins::TABLE], &with_sprig(&[&sveltos::event::TABLE])));
static DEPLOY: LazyLock<Registry> =
    LazyLock::new(|| registry(&[&builtins::TABLE], &with_sprig(&[&sveltos::deploy::TABLE])));
static HELM: LazyLock<Registry> = LazyLock::new(|| {
    let tables = with_sprig(&[&helm::TABLE, &helm::arithmetic::TABLE, &helm::durations::TABLE]);
    let mut all = registry(&[&builtins::TABLE, &helm::SPECIAL], &tables);
    all.retain(|name, _| !matches!(*name, "env" | "expandenv"));
    all
});
static EXTRAS: LazyLock<Registry> = LazyLock::new(|| registry(&[&sveltos::extras::TABLE], &[]));

fn with_sprig(more: &[&'static &'static [Row]]) -> Vec<&'static &'static [Row]> {
    let mut tables = sprig::TABLES.to_vec();
    tables.push(&codec::TABLE);
    tables.extend(more);
    tables
}

/// Builds a registry; later tables replace functions of earlier ones. Only functions of the
/// first group are treated specially by the executor.
fn registry(special: &[&'static &'static [Row]], more: &[&'static &'static [Row]]) -> Registry {
    let mut all = Registry::new();
    for row in special.iter().flat_map(|t| t.iter()) {
        let function = Function::from_row(row, true);
        all.insert(function.name, function);
    }
    for row in more.iter().flat_map(|t| t.iter()) {
        let function = Function::from_row(row, false);
        all.insert(function.name, function);
    }
    all
}

/// The functions of a stage, by name.
pub(crate) fn of_stage(stage: Stage) -> &'static HashMap<&'static str, Function> {
    match stage {
        Stage::Plain => &PLAIN,
        Stage::Sprig => &SPRIG,
        Stage::Event => &EVENT,
        Stage::Deploy => &DEPLOY,
        Stage::Helm => &HELM,
    }
}

/// The function of that name in the given options, if there is one.
pub(crate) fn lookup(name: &str, options: &Options) -> Option<&'static Function> {
    of_stage(options.stage).get(name).or_else(|| if options.extras { EXTRAS.get(name) } else { None })
}

// === impl Function ===

impl Function {
    pub(crate) fn from_row(row: &'static Row, may_be_special: bool) -> Self {
        let signature = signature::parse(row.0);
        let special = match signature.name {
            "and" => Special::And,
            "or" => Special::Or,
            "call" => Special::Call,
            "include" => Special::Include,
            "tpl" => Special::Tpl,
            _ => Special::No,
        };
        Self {
            name: signature.name,
            params: signature.params,
            names: signature.names,
            variadic: signature.variadic,
            run: row.1,
            special: if may_be_special { special } else { Special::No },
        }
    }
}

/// The code of functions that the executor runs itself.
pub(crate) fn run_by_executor<'a>(_: &mut Cx<'a>, _: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Invalid)
}
