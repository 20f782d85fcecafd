//! Templates that functions call: `include` by name, `tpl` by text.

use std::cell::OnceCell;

use super::{Exec, Fail, Ref, Stop};
use crate::{
    funcs::CallResult,
    program::Program,
    text::{lossy, quote::quoted},
    value::Value,
};

/// Programs compiled during a render. They live as long as the render's values, which may
/// borrow from them; so they are only ever appended.
#[derive(Debug, Default)]
pub(crate) struct ProgramList {
    first: OnceCell<Box<(Program, ProgramList)>>,
}

// === impl ProgramList ===

impl ProgramList {
    pub(crate) fn push(&self, program: Program) -> &Program {
        let mut end = self;
        while let Some(entry) = end.first.get() {
            end = &entry.1;
        }
        &end.first.get_or_init(|| Box::new((program, Self::default()))).0
    }
}

impl Drop for ProgramList {
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut entry) = next {
            next = entry.1.first.take();
        }
    }
}

// === impl Exec ===

impl<'a> Exec<'a> {
    /// `include "name" data`: the output of a named template as a string.
    pub(crate) fn include(&mut self, args: &[Value<'a>]) -> CallResult<'a> {
        let name = lossy(args[0].bytes());
        let Some(template) = self.program.template(&name) else {
            return Err(Fail::Message(format!("template {} not defined", quoted(&name))));
        };
        let program = self.program;
        self.capture(program, template, &args[1])
    }

    /// `tpl "text" data`: the output of a text as a template, with the same functions.
    pub(crate) fn tpl(&mut self, args: &[Value<'a>]) -> CallResult<'a> {
        let text = lossy(args[0].bytes());
        self.cx.spend(text.len() * 16 + 4096)?;
        let compiled =
            Program::compile_within(self.program.name(), &text, self.program.options(), self.cx.limits);
        let program = self.nested.push(compiled.map_err(|e| Fail::Nested(Box::new(e)))?);
        self.capture(program, program.main(), &args[1])
    }

    fn capture(
        &mut self,
        program: &'a Program,
        template: &'a crate::syntax::Template,
        dot: &Value<'a>,
    ) -> CallResult<'a> {
        if self.calls_are_exhausted() {
            let limit = self.cx.limits.call_depth;
            return Err(Fail::Limit(format!("exceeded maximum template depth ({limit})")));
        }
        let outer_program = std::mem::replace(&mut self.program, program);
        let outer_out = std::mem::take(&mut self.out);
        self.calls += 1;
        let walked = self.enter(template, Ref::root(dot.clone()));
        self.calls -= 1;
        let out = std::mem::replace(&mut self.out, outer_out);
        match walked {
            Ok(()) | Err(Stop::Break | Stop::Continue) => {
                self.program = outer_program;
                self.cx.string(out)
            }
            Err(Stop::Error(error)) => Err(Fail::Nested(error)),
        }
    }
}
