//! The executor: walks the arena over the data, exactly in the order Go does.

pub(crate) mod args;
pub(crate) mod call;
pub(crate) mod context;
pub(crate) mod eval;
pub(crate) mod field;
pub(crate) mod nested;
pub(crate) mod path;
pub(crate) mod scope;
pub(crate) mod walk;

pub(crate) use context::{Cx, Fail, Spent};
pub(crate) use nested::ProgramList;
pub(crate) use scope::{Scope, without_no_value};

use crate::{
    Error,
    error::ErrorKind,
    program::Program,
    syntax::{NodeId, Template, display::node_text},
    text::quote::quoted,
    value::Value,
};

/// A value and whether its static type is `interface {}`, which only messages tell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ref<'a> {
    pub(crate) value: Value<'a>,
    pub(crate) iface: bool,
}

/// Why a walk does not go on with the next node.
#[derive(Debug)]
pub(crate) enum Stop {
    Break,
    Continue,
    Error(Box<Error>),
}

/// The state of one render.
pub(crate) struct Exec<'a> {
    pub(crate) cx: Cx<'a>,
    pub(crate) program: &'a Program,
    pub(crate) out: Vec<u8>,
    /// The template being executed, for messages.
    pub(crate) template: &'a Template,
    /// The node being executed, for messages.
    pub(crate) node: NodeId,
    /// The variables of all active templates; those of the current one start at `base`.
    pub(crate) vars: Vec<Ref<'a>>,
    pub(crate) base: usize,
    pub(crate) calls: usize,
    pub(crate) depth: usize,
    pub(crate) nested: &'a ProgramList,
    /// Where templates are looked up by name; nothing where a program is alone.
    pub(crate) scope: Option<Scope<'a>>,
}

/// Nested evaluations: bounds the stack whatever the text looks like.
const MAX_DEPTH: usize = 500;

/// A template is only called with so much of it left.
const CALL_RESERVE: usize = 50;

// === impl Ref ===

impl<'a> Ref<'a> {
    pub(crate) fn plain(value: Value<'a>) -> Self {
        Self { value, iface: false }
    }

    /// The root of a template; nil there is no value at all.
    pub(crate) fn root(value: Value<'a>) -> Self {
        Self::plain(if matches!(value, Value::Nil) { Value::Invalid } else { value })
    }

    /// The name of the static type.
    pub(crate) fn static_type(&self) -> std::borrow::Cow<'static, str> {
        if self.iface { "interface {}".into() } else { self.value.type_name() }
    }
}

// === impl Exec ===

impl<'a> Exec<'a> {
    /// Executes the main template of `program` over `dot`.
    pub(crate) fn render(
        cx: Cx<'a>,
        program: &'a Program,
        nested: &'a ProgramList,
        dot: Ref<'a>,
    ) -> Result<Vec<u8>, Box<Error>> {
        let mut exec = Self::new(cx, program, nested);
        exec.enter_main(program.main(), dot)?;
        Ok(exec.out)
    }

    /// A state that stands before the main template.
    pub(crate) fn new(cx: Cx<'a>, program: &'a Program, nested: &'a ProgramList) -> Self {
        let template = program.main();
        Self {
            cx,
            program,
            out: Vec::with_capacity(program.text().len() * 2),
            template,
            node: template.root,
            vars: Vec::with_capacity(8),
            base: 0,
            calls: 0,
            depth: 0,
            nested,
            scope: None,
        }
    }

    /// Stands before another template; what has been used up and written stays.
    pub(crate) fn restart(&mut self, program: &'a Program, template: &'a Template) {
        (self.program, self.template, self.node) = (program, template, template.root);
        (self.base, self.calls, self.depth) = (0, 0, 0);
        self.vars.clear();
        self.out.clear();
    }

    /// Executes a template to its end.
    pub(crate) fn enter_main(&mut self, template: &'a Template, dot: Ref<'a>) -> Result<(), Box<Error>> {
        match self.enter(template, dot) {
            Err(Stop::Error(error)) => Err(error),
            Ok(()) | Err(Stop::Break | Stop::Continue) => Ok(()),
        }
    }

    /// Executes a template's root in a frame of its own.
    pub(crate) fn enter(&mut self, template: &'a Template, dot: Ref<'a>) -> Result<(), Stop> {
        let outer = (self.template, self.node, self.base);
        self.base = self.vars.len();
        self.vars.push(dot.clone());
        self.vars.resize(self.base + template.slots as usize, Ref::default());
        self.template = template;
        let walked = self.walk_list(&dot, template.root);
        self.vars.truncate(self.base);
        if walked.is_ok() {
            (self.template, self.node, self.base) = outer;
        }
        walked
    }

    /// An error at the current node.
    pub(crate) fn fail(&self, message: impl std::fmt::Display) -> Stop {
        self.fail_as(ErrorKind::Exec, message)
    }

    pub(crate) fn fail_as(&self, kind: ErrorKind, message: impl std::fmt::Display) -> Stop {
        let source = self.program.text();
        let pos = self.program.arena().get(self.node).pos as usize;
        let before = &source.as_bytes()[..pos.min(source.len())];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let column = before.iter().rev().take_while(|b| **b != b'\n').count();
        let text = format!(
            "template: {}:{line}:{column}: executing {} at <{}>: {message}",
            self.program.name(),
            quoted(&self.template.name),
            node_text(self.program.arena(), source, self.node),
        );
        Stop::Error(Box::new(Error::exec(kind, text, line, column)))
    }

    /// A failure of the context, at the current node.
    pub(crate) fn failed(&self, fail: Fail) -> Stop {
        match fail {
            Fail::Message(message) => self.fail(message),
            Fail::Limit(message) => self.fail_as(ErrorKind::Limit, message),
            Fail::Nested(error) => Stop::Error(error),
        }
    }

    /// Whether no further template can be called: the budget is used up, or the stack is.
    pub(crate) fn calls_are_exhausted(&self) -> bool {
        self.calls >= self.cx.limits.call_depth || self.depth + CALL_RESERVE > MAX_DEPTH
    }

    pub(crate) fn step(&mut self) -> Result<(), Stop> {
        match self.cx.step(1) {
            Ok(()) => Ok(()),
            Err(fail) => Err(self.failed(fail)),
        }
    }

    pub(crate) fn descend(&mut self) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(
                self.fail_as(ErrorKind::Limit, format!("limit: evaluation nested deeper than {MAX_DEPTH}"))
            );
        }
        self.step()
    }

    /// Appends to the output within its budget.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let limit = self.cx.limits.output_bytes;
        if self.out.len() + bytes.len() > limit {
            return Err(self.fail_as(ErrorKind::Limit, format!("limit: more than {limit} bytes of output")));
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}
