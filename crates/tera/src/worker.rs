//! The parent's side of one worker: start, ask, end.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use sluice_template::Deadline;

use crate::frames::{Arriving, framed};
use crate::serve::ARGUMENT;

/// How long a worker may take to stand ready.
const START: Duration = Duration::from_secs(10);
/// How often the caller's own deadline is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// What is read of a dying worker's last words.
const LAST_WORDS: usize = 4096;

/// Why a worker did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The time was over.
    Late,
    /// It ended; its last words.
    Died(String),
    /// It wrote what is no frame.
    Babbles(String),
}

/// How long an answer may take.
#[derive(Clone, Copy)]
pub(crate) struct Until<'a> {
    pub(crate) at: Instant,
    pub(crate) deadline: Option<&'a Deadline>,
}

/// A child process that waits for frames. It ends with this value.
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    errors: ChildStderr,
    answered: bool,
}

/// This program. The link stays right when the file is replaced.
fn this_program() -> std::io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

// === impl Worker ===

impl Worker {
    /// Starts a worker with so much memory and waits until it stands ready. It inherits no environment, no files and
    /// no signals of the terminal.
    ///
    /// # Errors
    /// What went wrong.
    pub(crate) fn start(memory: u64) -> Result<Self, String> {
        use std::os::unix::process::CommandExt as _;
        let spawn = || {
            let mut command = Command::new(this_program()?);
            command.arg(ARGUMENT).arg(memory.to_string()).env_clear().current_dir("/").process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
        };
        let mut child = spawn().map_err(|error| error.to_string())?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("it has no pipes".to_owned());
        };
        let mut worker = Self { child, input, output, errors, answered: false };
        worker.set_nonblocking().map_err(|error| error.to_string())?;
        match worker.read(Until { at: Instant::now() + START, deadline: None }, 0) {
            Ok(_) => Ok(worker),
            Err(broken) => Err(format!("{broken:?}")),
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has answered before: then its memory may not be what it was at the start.
    pub(crate) fn is_used(&self) -> bool {
        self.answered
    }

    /// Sends a frame and waits for the answer of at most so many bytes.
    ///
    /// # Errors
    /// Why there is none; the worker is of no more use then.
    pub(crate) fn ask(&mut self, body: &[u8], until: Until<'_>, most: usize) -> Result<Vec<u8>, Broken> {
        self.write(&framed(body), until)?;
        let answer = self.read(until, most)?;
        self.answered = true;
        Ok(answer)
    }

    fn set_nonblocking(&self) -> Result<(), Errno> {
        ioctl_fionbio(&self.input, true)?;
        ioctl_fionbio(&self.output, true)?;
        ioctl_fionbio(&self.errors, true)
    }

    fn write(&mut self, mut frame: &[u8], until: Until<'_>) -> Result<(), Broken> {
        while !frame.is_empty() {
            match self.input.write(frame) {
                Ok(written) => frame = &frame[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    until.wait(PollFd::new(&self.input, PollFlags::OUT))?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Broken::Died(self.last_words())),
            }
        }
        Ok(())
    }

    fn read(&mut self, until: Until<'_>, most: usize) -> Result<Vec<u8>, Broken> {
        let (mut arriving, mut piece) = (Arriving::new(most), [0; 16 * 1024]);
        loop {
            match self.output.read(&mut piece) {
                Ok(0) => return Err(Broken::Died(self.last_words())),
                Ok(length) => {
                    if let Some(body) = arriving.take(&piece[..length]).map_err(Broken::Babbles)? {
                        return Ok(body);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    until.wait(PollFd::new(&self.output, PollFlags::IN))?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Broken::Died(self.last_words())),
            }
        }
    }

    /// What a dead worker wrote to its errors, and how it ended.
    fn last_words(&mut self) -> String {
        self.end();
        let mut words = Vec::new();
        let read = (&mut self.errors).take(LAST_WORDS as u64).read_to_end(&mut words);
        let status = self.child.wait().map(|status| status.to_string()).unwrap_or_default();
        match read {
            Ok(length) if length > 0 => format!("{status}: {}", String::from_utf8_lossy(&words).trim()),
            _ => status,
        }
    }

    /// Kills it and takes note of its end. A process that is gone already cannot be killed, and that is well.
    fn end(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

// === impl Until ===

impl Until<'_> {
    /// Waits until the pipe can be used.
    fn wait(self, pipe: PollFd<'_>) -> Result<(), Broken> {
        let mut pipes = [pipe];
        loop {
            let left = self.at.saturating_duration_since(Instant::now());
            let over = left.is_zero() || self.deadline.is_some_and(Deadline::passed);
            let left = if self.deadline.is_some() { left.min(LOOK) } else { left };
            let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
            // Asked also when the time is over: this process may have been paused, and the answer may be there.
            match poll(&mut pipes, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) if over => return Err(Broken::Late),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(Broken::Died(errno.to_string())),
            }
        }
    }
}
