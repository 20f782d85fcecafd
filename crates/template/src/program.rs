//! A compiled template: parsed once, rendered many times, shared between threads.

use std::collections::BTreeMap;

use crate::{
    Data, Env, Error, Limits, Options,
    exec::{Cx, Exec, ProgramList, Ref},
    funcs,
    syntax::{Arena, NodeKind, Template, parser},
    text::lossy_owned,
    value::Value,
};

/// A compiled template. It holds no data and no state.
#[derive(Debug)]
pub struct Program {
    name: Box<str>,
    text: Box<str>,
    options: Options,
    arena: Arena,
    templates: BTreeMap<Box<str>, Template>,
    main: Template,
}

// === impl Program ===

impl Program {
    /// Compiles a text under the default limits. The name appears in errors, and a
    /// `define` of the same name collides with the text itself.
    pub fn compile(name: &str, text: &str, options: &Options) -> Result<Self, Error> {
        Self::compile_within(name, text, options, &Limits::default())
    }

    /// Compiles a text whose size and nesting are bounded by the given limits.
    pub fn compile_within(name: &str, text: &str, options: &Options, limits: &Limits) -> Result<Self, Error> {
        let lookup = |function: &str| funcs::lookup(function, options);
        let mut parsed = parser::parse(name, text, &lookup, limits)?;
        let main = match parsed.templates.get(name) {
            Some(main) => main.clone(),
            None => {
                let root = parsed.arena.push(0, NodeKind::List([].into()));
                Template { name: name.into(), root, slots: 1 }
            }
        };
        let (arena, templates) = (parsed.arena, parsed.templates);
        Ok(Self { name: name.into(), text: text.into(), options: options.clone(), arena, templates, main })
    }

    /// Renders the template over `dot`. The data is never changed: functions that write to
    /// it write to a copy that lasts as long as the render.
    pub fn render(&self, dot: &Data<'_>, env: &Env<'_>, limits: &Limits) -> Result<String, Error> {
        let nested = ProgramList::default();
        let cx = Cx::new(env, limits, self.options.lenient_numbers);
        let dot = Ref::root(Value::from(dot));
        let out = Exec::render(cx, self, &nested, dot).map_err(|error| *error)?;
        Ok(lossy_owned(out))
    }

    /// The name given at compile time.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + self.arena.bytes()
    }

    /// The options it was compiled with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    pub(crate) fn main(&self) -> &Template {
        &self.main
    }

    pub(crate) fn template(&self, name: &str) -> Option<&Template> {
        self.templates.get(name)
    }

    /// All templates of the text by name, the text itself included.
    pub(crate) fn templates(&self) -> impl Iterator<Item = (&str, &Template)> {
        let main = (!self.templates.contains_key(&self.name)).then_some((&*self.name, &self.main));
        self.templates.iter().map(|(name, template)| (&**name, template)).chain(main)
    }

    /// Whether a template holds nothing but space; such a one replaces no other.
    pub(crate) fn is_empty_template(&self, template: &Template) -> bool {
        self.arena.is_empty_tree(template.root, &self.text)
    }
}
