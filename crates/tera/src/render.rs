//! Renders jobs with Tera; compiled templates are kept by content.

use std::collections::HashMap;
use std::io::{Error, Write};

use sluice_template::{Stage, TextError};
use tera::{Context, Tera};

use crate::functions::base;
use crate::job::Job;
use crate::session::Session;
use crate::values::from_json;

/// Compiled templates kept, and the text of all of them together.
const KEPT: usize = 256;
const KEPT_BYTES: usize = 4 << 20;

/// A template's name in its Tera when the caller gives it none.
const NAMELESS: &str = "template";

/// What identifies a compiled template: deploy stage or not, name, text.
type Content = (bool, String, String);

/// The engine itself, without any bound on time and memory.
pub(crate) struct Renderer {
    event: Tera,
    deploy: Tera,
    compiled: HashMap<Content, Tera>,
    bytes: usize,
}

// === impl Renderer ===

impl Renderer {
    pub(crate) fn new() -> Self {
        Self { event: base(Stage::Event), deploy: base(Stage::Deploy), compiled: HashMap::new(), bytes: 0 }
    }

    /// Renders one job.
    ///
    /// # Errors
    /// Tera's report, with its place in the template.
    pub(crate) fn render(&mut self, mut job: Job) -> Result<String, TextError> {
        let mut context = Context::new();
        for (name, value) in std::mem::take(&mut job.dot) {
            context.insert_value(name, from_json(value));
        }
        let session = Session::of(&mut job);
        let mut out = Bounded { out: Vec::new(), limit: job.budgets.output_bytes, full: false };
        if job.name.is_empty() {
            job.name = NAMELESS.to_owned();
        }
        let name = job.name.clone();
        let tera = self.compiled(job)?;
        let (rendered, limited) = session.within(|| tera.render_to(&name, &context, &mut out));
        if out.full {
            return Err(TextError::Limit(format!("limit: more than {} bytes of output", out.limit)));
        }
        let class = if limited { TextError::Limit } else { TextError::Wrong };
        rendered.map_err(|error| class(report(&error)))?;
        String::from_utf8(out.out).map_err(|error| TextError::Wrong(error.to_string()))
    }

    fn compiled(&mut self, job: Job) -> Result<&Tera, String> {
        let stage = job.stage();
        let content: Content = (stage == Stage::Deploy, job.name, job.text);
        if !self.compiled.contains_key(&content) {
            let mut tera = if content.0 { self.deploy.clone() } else { self.event.clone() };
            tera.add_raw_template(&content.1, &content.2).map_err(|error| report(&error))?;
            self.bytes += content.2.len();
            if self.compiled.len() >= KEPT || self.bytes > KEPT_BYTES {
                self.compiled.clear();
                self.bytes = content.2.len();
            }
            self.compiled.insert(content.clone(), tera);
        }
        self.compiled.get(&content).ok_or_else(|| "the template is not compiled".to_owned())
    }
}

/// Tera's text, said to be Tera's.
fn report(error: &tera::Error) -> String {
    let text = error.to_string();
    format!("tera: {}", text.strip_prefix("error: ").unwrap_or(&text))
}

/// Output that ends at a limit.
struct Bounded {
    out: Vec<u8>,
    limit: usize,
    full: bool,
}

impl Write for &mut Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.out.len() + bytes.len() > self.limit {
            self.full = true;
            return Err(Error::other("the output is full"));
        }
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
