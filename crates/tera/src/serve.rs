//! The child's side: one frame in, one frame out, until the parent is gone.

use std::ffi::OsStr;
use std::io::{stdin, stdout};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::confine::{allow_cpu, close_inherited, confine};
use crate::job::Job;
use crate::render::Renderer;
use crate::{frames, job::RenderOutcome};

/// The first argument of a worker; the second is its memory in bytes.
pub(crate) const ARGUMENT: &str = "__tera-worker";

/// Whether the program calls [`serve_if_asked`], so that it can be started as a worker.
static CAN_SERVE: AtomicBool = AtomicBool::new(false);

/// Turns the process into a worker if it was started as one, and then never returns.
///
/// A program that renders Tera templates calls this before anything else: before it starts threads, reads arguments or
/// opens files.
#[expect(clippy::disallowed_methods, reason = "a worker holds nothing that a graceful stop would save")]
pub fn serve_if_asked() {
    CAN_SERVE.store(true, Ordering::Relaxed);
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(ARGUMENT)) {
        return;
    }
    let memory = arguments.next().and_then(|text| text.to_str()?.parse().ok());
    match serve(memory.unwrap_or(0)) {
        Ok(()) => exit(0),
        Err(error) => {
            eprintln!("{error}");
            exit(70);
        }
    }
}

/// Whether this program can be started as a worker.
pub(crate) fn can_serve() -> bool {
    CAN_SERVE.load(Ordering::Relaxed)
}

fn serve(memory: u64) -> std::io::Result<()> {
    close_inherited()?;
    let mut renderer = Renderer::new();
    confine(memory)?;
    let (mut input, mut output) = (stdin().lock(), stdout().lock());
    // The clock of a render starts when the worker stands ready.
    frames::write(&mut output, b"")?;
    while let Some(frame) = frames::read(&mut input)? {
        let answer = answer(&mut renderer, &frame)?;
        frames::write(&mut output, &serde_json::to_vec(&answer)?)?;
    }
    Ok(())
}

fn answer(renderer: &mut Renderer, frame: &[u8]) -> std::io::Result<RenderOutcome> {
    let job = match Job::decode(frame) {
        Ok(job) => job,
        Err(error) => return Ok(RenderOutcome::Wrong(error)),
    };
    allow_cpu(Duration::from_millis(job.budgets.wall_millis))?;
    Ok(renderer.render(job).into())
}
