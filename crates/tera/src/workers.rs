//! The engine of the product: a few workers, each for one render at a time.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sluice_template::{Engine, Limits, Request, TextError};

use crate::job::{RenderOutcome, encode};
use crate::serve::can_serve;
use crate::strikes::Strikes;
use crate::worker::{Broken, Until, Worker};

/// Bytes of an answer besides its text, which may also need escapes.
const OVERHEAD: usize = 64 * 1024;

// D-0917: Tera runs in a child process.
/// Renders Tera templates in child processes of this program, which must call [`crate::serve_if_asked`]. They are
/// started when the first template needs them and end with this value.
pub struct Workers {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    busy: usize,
    strikes: Strikes,
}

// === impl Workers ===

impl Workers {
    /// Workers that are not started yet: as many as there are processors, at most four.
    pub fn new() -> Self {
        Self { state: Mutex::default(), returned: Condvar::new() }
    }

    /// The process ids of the workers that wait for work.
    pub fn idle(&self) -> Vec<u32> {
        self.state().idle.iter().map(Worker::id).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a worker that waits, or the right to start one.
    fn take(&self) -> Option<Worker> {
        let most = std::thread::available_parallelism().map_or(1, |count| count.get().min(4));
        let mut state = self.state();
        while state.busy >= most {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.busy += 1;
        state.idle.pop()
    }

    fn give_back(&self, worker: Option<Worker>) {
        let mut state = self.state();
        state.busy -= 1;
        state.idle.extend(worker);
        self.returned.notify_one();
    }

    /// Asks a worker. When one dies that has worked before, a fresh one is asked, so that no render fails for what
    /// others have left behind. And a template that is stopped for the first time gets a second try: the machine may
    /// have been busy, or this process paused.
    fn ask(&self, text: &str, frame: &[u8], limits: &Limits) -> Result<Vec<u8>, TextError> {
        let mut worker = self.take();
        let answer = loop {
            let mut asked = match worker.take().map_or_else(|| Worker::start(limits.worker_bytes), Ok) {
                Ok(asked) => asked,
                Err(error) => {
                    break Err(format!("the worker that renders Tera cannot be started: {error}").into());
                }
            };
            let until = Until { at: Instant::now() + limits.wall, deadline: limits.deadline.as_ref() };
            let answer = asked.ask(frame, until, limits.output_bytes.saturating_mul(6) + OVERHEAD);
            match answer {
                Ok(answer) => {
                    worker = Some(asked);
                    break Ok(answer);
                }
                Err(Broken::Died(_)) if asked.is_used() => {}
                Err(broken) => {
                    let why = stopped(&broken, limits);
                    if self.state().strikes.stopped(text, Instant::now(), &why) > 1 {
                        break Err(why);
                    }
                }
            }
        };
        self.give_back(worker);
        answer
    }
}

/// What a user reads about a render that was stopped.
fn stopped(broken: &Broken, limits: &Limits) -> TextError {
    let memory = limits.worker_bytes >> 20;
    TextError::Limit(match broken {
        Broken::Late => format!("limit: the render took longer than {:?} and was stopped", limits.wall),
        Broken::Died(words) if words.contains("memory allocation") => {
            format!("limit: the render needed more than {memory} MiB of memory and was stopped")
        }
        Broken::Died(words) if words.contains("overflowed its stack") => {
            "limit: the render nested too deeply and was stopped".to_owned()
        }
        Broken::Died(words) => format!("limit: the render ended its worker ({words})"),
        Broken::Babbles(what) => {
            return format!("the worker that renders Tera answered nonsense: {what}").into();
        }
    })
}

impl Engine for Workers {
    fn render(&self, request: &Request<'_>) -> Result<String, TextError> {
        let limits = request.limits;
        if !can_serve() {
            let why = "this program cannot render Tera templates; let sluice-renderer or sluice do it";
            return Err(why.to_owned().into());
        }
        if request.text.len() > limits.template_bytes {
            let why = format!("limit: a template of more than {} bytes", limits.template_bytes);
            return Err(TextError::Limit(why));
        }
        if let Some(refusal) = self.state().strikes.refusal(request.text, Instant::now()) {
            return Err(refusal);
        }
        let frame = encode(request)?;
        let most = usize::try_from(limits.worker_bytes / 4).unwrap_or(usize::MAX);
        if frame.len() > most {
            let why = format!("limit: template and variables are {} bytes, more than {most}", frame.len());
            return Err(TextError::Limit(why));
        }
        let answer = self.ask(request.text, &frame, limits)?;
        self.state().strikes.ended(request.text);
        serde_json::from_slice::<RenderOutcome>(&answer).map_err(|error| error.to_string())?.into()
    }
}

impl Default for Workers {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Workers")
    }
}
