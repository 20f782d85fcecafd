//! Templates of many programs under one set of names, as Go's associated templates are.

use std::{collections::BTreeMap, rc::Rc};

use super::{Exec, Fail, Ref, Stop};
use crate::{
    Error,
    funcs::CallResult,
    program::Program,
    set::{SET_NAME, TemplateSet},
    syntax::Template,
    text::{lossy, quote::quoted},
    value::Value,
};

/// The names that are known: those of the set, and what running `tpl` calls have defined over them.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    set: &'a TemplateSet,
    layer: Option<Rc<Layer<'a>>>,
    /// Texts given to `tpl` before, compiled.
    texts: BTreeMap<Rc<[u8]>, &'a Program>,
}

/// A template and the program whose text it is a part of.
pub(crate) type Found<'a> = (&'a Program, &'a Template);

struct Layer<'a> {
    own: BTreeMap<&'a str, Found<'a>>,
    outer: Option<Rc<Layer<'a>>>,
}

/// How Go prints what is not there.
const NO_VALUE: &[u8] = b"<no value>";

// === impl Scope ===

impl<'a> Scope<'a> {
    pub(crate) fn new(set: &'a TemplateSet) -> Self {
        Self { set, layer: None, texts: BTreeMap::new() }
    }

    fn find(&self, name: &str) -> Option<Found<'a>> {
        let mut layer = self.layer.as_deref();
        while let Some(here) = layer {
            if let Some(found) = here.own.get(name) {
                return Some(*found);
            }
            layer = here.outer.as_deref();
        }
        self.set.find(name)
    }

    /// Adds what a program defines; the layer that was there before.
    fn push(&mut self, program: &'a Program) -> Option<Rc<Layer<'a>>> {
        let mut own = BTreeMap::new();
        for (name, template) in program.templates() {
            if !program.is_empty_template(template) || self.find(name).is_none() {
                own.insert(name, (program, template));
            }
        }
        let outer = self.layer.clone();
        self.layer.replace(Rc::new(Layer { own, outer }))
    }
}

// === impl Exec ===

impl<'a> Exec<'a> {
    /// The template of that name.
    pub(crate) fn find_template(&self, name: &str) -> Option<Found<'a>> {
        match &self.scope {
            Some(scope) => scope.find(name),
            None => self.program.template(name).map(|template| (self.program, template)),
        }
    }

    /// Helm's `include`.
    pub(crate) fn include_in_scope(&mut self, args: &[Value<'a>]) -> CallResult<'a> {
        let name = lossy(args[0].bytes());
        let Some((program, template)) = self.find_template(&name) else {
            let name = quoted(&name);
            return Err(
                format!("template: no template {name} associated with template \"{SET_NAME}\"").into()
            );
        };
        if self.calls_are_exhausted() {
            return Err(Fail::Limit(format!(
                "rendering template has a nested reference name: {name}: unable to execute template"
            )));
        }
        let out = self.captured(program, template, &args[1])?;
        self.cx.string(out)
    }

    /// Helm's `tpl`: the text sees all templates, and what it defines lasts as long as it runs.
    pub(crate) fn tpl_in_scope(&mut self, args: &[Value<'a>]) -> CallResult<'a> {
        let program = self.compiled(args[0].bytes())?;
        if self.calls_are_exhausted() {
            let limit = self.cx.limits.call_depth;
            return Err(Fail::Limit(format!("limit: more than {limit} templates call each other")));
        }
        let outer = self.scope.as_mut().map(|scope| scope.push(program));
        let out = self.captured(program, program.main(), &args[1]);
        if let (Some(scope), Some(outer)) = (&mut self.scope, outer) {
            scope.layer = outer;
        }
        let out = out.map_err(|fail| {
            let text = quoted(&lossy(args[0].bytes()));
            let wrapped = |error: &dyn std::fmt::Display| {
                format!("error during tpl function execution for {text}: {error}")
            };
            match fail {
                Fail::Nested(error) if error.kind() == crate::ErrorKind::Limit => {
                    Fail::Limit(wrapped(&error))
                }
                Fail::Nested(error) => Fail::Message(wrapped(&error)),
                other => other,
            }
        })?;
        self.cx.string(without_no_value(out))
    }

    fn compiled(&mut self, text: &[u8]) -> Result<&'a Program, Fail> {
        let known = self.scope.as_ref().and_then(|scope| scope.texts.get(text).copied());
        if let Some(program) = known {
            self.cx.step(text.len() as u64 / 256 + 1)?;
            return Ok(program);
        }
        self.cx.spend(text.len() * 16 + 4096)?;
        let source = lossy(text);
        let options = self.program.options();
        let compiled = Program::compile_within(SET_NAME, &source, options, self.cx.limits);
        let program = self.nested.push(compiled.map_err(|error| {
            let message = format!("cannot parse template {}: {error}", quoted(&source));
            match error.kind() {
                crate::ErrorKind::Limit => Fail::Limit(message),
                _ => Fail::Message(message),
            }
        })?);
        if let Some(scope) = &mut self.scope {
            scope.texts.insert(text.into(), program);
        }
        Ok(program)
    }

    /// The output of a template; the state is as before, also after an error.
    fn captured(
        &mut self,
        program: &'a Program,
        template: &'a Template,
        dot: &Value<'a>,
    ) -> Result<Vec<u8>, Fail> {
        let outer_program = std::mem::replace(&mut self.program, program);
        let outer_out = std::mem::take(&mut self.out);
        let (outer_template, outer_node, outer_base, vars) =
            (self.template, self.node, self.base, self.vars.len());
        let depth = self.depth;
        self.calls += 1;
        let walked = self.enter(template, Ref::root(dot.clone()));
        self.calls -= 1;
        (self.template, self.node, self.base, self.depth) = (outer_template, outer_node, outer_base, depth);
        self.vars.truncate(vars);
        self.program = outer_program;
        let out = std::mem::replace(&mut self.out, outer_out);
        match walked {
            Ok(()) | Err(Stop::Break | Stop::Continue) => Ok(out),
            Err(Stop::Error(error)) => Err(Fail::Nested(error)),
        }
    }

    /// The error of a call, which wraps what the function says.
    pub(crate) fn fail_wrapping(&self, name: &str, fail: Fail) -> Stop {
        let (kind, text, causes) = match fail {
            Fail::Message(text) => (crate::ErrorKind::Exec, text.clone(), vec![text.into()]),
            Fail::Limit(text) => (crate::ErrorKind::Limit, text.clone(), vec![text.into()]),
            Fail::Nested(error) => (error.kind(), error.to_string(), error.into_causes()),
        };
        match self.fail_as(kind, format!("error calling {name}: {text}")) {
            Stop::Error(error) => Stop::Error(Box::new(Error::caused_by(*error, causes))),
            other => other,
        }
    }
}

/// What Helm makes of Go's way to print what is not there.
pub(crate) fn without_no_value(text: Vec<u8>) -> Vec<u8> {
    let Some(mut at) = find(&text) else { return text };
    let mut out = Vec::with_capacity(text.len());
    let mut rest = &text[..];
    loop {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + NO_VALUE.len()..];
        match find(rest) {
            Some(next) => at = next,
            None => break,
        }
    }
    out.extend_from_slice(rest);
    out
}

fn find(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|b| *b == b'<') {
        if text[from + at..].starts_with(NO_VALUE) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_cut_out() {
        let cut = |text: &str| lossy(&without_no_value(text.as_bytes().to_vec()));
        assert_eq!(cut("a<no value>b<no value><no value>c<"), "abc<");
        assert_eq!(cut("<no <no value>value>"), "<no value>");
        assert_eq!(cut("plain"), "plain");
    }
}
