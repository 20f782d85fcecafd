//! Many texts under one set of names, as Helm executes the templates of a chart.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    Data, Env, Error, ErrorKind, Limits, MissingKey, Options, Program, Stage,
    exec::{Cx, Exec, ProgramList, Ref, Scope, without_no_value},
    syntax::Template,
    text::lossy_owned,
    value::Value,
};

/// The name of the set itself, which is also the name of every text given to `tpl`.
pub(crate) const SET_NAME: &str = "gotpl";

/// Compiled texts that see each other's templates: a later definition replaces an earlier one,
/// unless it is empty.
#[derive(Debug)]
pub struct TemplateSet {
    programs: Vec<Arc<Program>>,
    names: HashMap<Box<str>, (usize, Template)>,
}

/// A text to execute.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Of the text to run, as it was given to [`TemplateSet::compile`].
    pub name: &'a str,
    /// What it sees. What one job writes into a map, later jobs read.
    pub dot: &'a Data<'a>,
}

// === impl TemplateSet ===

impl TemplateSet {
    /// Compiles named texts in their order, with the functions of [`Stage::Helm`].
    ///
    /// # Errors
    /// The name of the first text that is no template, and what is wrong with it.
    pub fn compile<'t>(
        texts: impl IntoIterator<Item = (&'t str, &'t str)>,
        limits: &Limits,
    ) -> Result<Self, (String, Error)> {
        let mut programs = Vec::new();
        for (name, text) in texts {
            let program = Self::program(name, text, limits).map_err(|error| (name.to_owned(), error))?;
            programs.push(Arc::new(program));
        }
        Ok(Self::of(programs))
    }

    /// Compiles one text for a set: it can be a part of many.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn program(name: &str, text: &str, limits: &Limits) -> Result<Program, Error> {
        let options = Options {
            missing_key: MissingKey::Zero,
            stage: Stage::Helm,
            lenient_numbers: false,
            extras: false,
        };
        Program::compile_within(name, text, &options, limits)
    }

    /// A set of compiled texts, in this order.
    pub fn of(programs: Vec<Arc<Program>>) -> Self {
        let mut names: HashMap<Box<str>, (usize, Template)> = HashMap::new();
        for (at, program) in programs.iter().enumerate() {
            for (name, template) in program.templates() {
                if !program.is_empty_template(template) || !names.contains_key(name) {
                    names.insert(name.into(), (at, template.clone()));
                }
            }
        }
        Self { programs, names }
    }

    /// The compiled texts in their order.
    pub fn programs(&self) -> &[Arc<Program>] {
        &self.programs
    }

    pub(crate) fn find(&self, name: &str) -> Option<(&Program, &Template)> {
        let (program, template) = self.names.get(name)?;
        Some((&self.programs[*program], template))
    }

    /// Executes texts one after the other, as parts of one render: limits, random values and what is
    /// written are shared. `turn` counts the jobs, for [`Data::Turn`].
    ///
    /// # Errors
    /// The name of the text that failed, and Go's error.
    pub fn render<'a>(
        &'a self,
        jobs: &[Job<'a>],
        turn: &AtomicUsize,
        env: &'a Env<'a>,
        limits: &'a Limits,
    ) -> Result<Vec<String>, (String, Error)> {
        let nested = ProgramList::default();
        let mut outputs = Vec::with_capacity(jobs.len());
        // The programs that `tpl` compiles must outlive what borrows from them, and both end here.
        self.run(jobs, turn, env, limits, &nested, &mut outputs)?;
        Ok(outputs)
    }

    fn run<'r, 'a: 'r>(
        &'a self,
        jobs: &[Job<'a>],
        turn: &AtomicUsize,
        env: &'r Env<'r>,
        limits: &'r Limits,
        nested: &'r ProgramList,
        outputs: &mut Vec<String>,
    ) -> Result<(), (String, Error)> {
        let mut exec: Option<Exec<'r>> = None;
        let mut written = 0;
        for (at, job) in jobs.iter().enumerate() {
            turn.store(at, Ordering::Relaxed);
            let Some((program, template)) = self.find(job.name) else { continue };
            let exec = exec.get_or_insert_with(|| {
                let mut exec = Exec::new(Cx::new(env, limits, false), program, nested);
                exec.scope = Some(Scope::new(self));
                exec
            });
            exec.restart(program, template);
            let dot = Ref::root(Value::from(job.dot));
            exec.enter_main(template, dot).map_err(|error| (job.name.to_owned(), *error))?;
            written += exec.out.len();
            if written > limits.output_bytes {
                let text = format!("limit: more than {} bytes of output", limits.output_bytes);
                return Err((job.name.to_owned(), Error::exec(ErrorKind::Limit, text, 0, 0)));
            }
            outputs.push(lossy_owned(without_no_value(std::mem::take(&mut exec.out))));
        }
        Ok(())
    }
}
