//! Child processes that end with their handle.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context as _, bail};

use crate::place::Inside;

/// How many lines of a log an error shows.
const LOG_LINES: usize = 12;

/// How to start a process.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Names the log.
    pub name: String,
    /// Path of the executable.
    pub program: PathBuf,
    /// Without the program's own name.
    pub arguments: Vec<String>,
    /// Variables of its environment, besides those of this process.
    pub environment: Vec<(String, String)>,
    /// Where its logs go: `<name>.log`, and `<name>.out` for standard output.
    pub dir: PathBuf,
    /// Whether it has children of its own, so that it must be asked to end.
    pub graceful: bool,
    /// The place where it runs, when it has a network of its own.
    pub place: Option<Inside>,
}

/// A running process. It ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    launch: Launch,
    child: Child,
}

// === impl Launch ===

impl Launch {
    /// A process that is killed in the end.
    pub fn new(name: &str, program: PathBuf, arguments: Vec<String>, dir: &Path) -> Self {
        Self {
            name: name.to_owned(),
            program,
            arguments,
            environment: Vec::new(),
            dir: dir.to_path_buf(),
            graceful: false,
            place: None,
        }
    }
}

// === impl Process ===

impl Process {
    /// Starts it. Logs are appended, so that a restart does not hide what came before.
    ///
    /// # Errors
    /// When the program cannot be run or a log cannot be written.
    pub fn start(launch: Launch) -> anyhow::Result<Self> {
        let log = |end: &str| {
            let path = launch.dir.join(format!("{}.{end}", launch.name));
            let opened = OpenOptions::new().create(true).append(true).open(&path);
            opened.with_context(|| format!("cannot write {}", path.display()))
        };
        // Hundreds of clusters need more files than a shell grants by default.
        let script = "ulimit -n \"$(ulimit -H -n)\" 2>/dev/null; exec \"$0\" \"$@\"";
        let child = Command::new("sh")
            .args(["-c", script])
            .args(launch.place.iter().flat_map(Inside::command))
            .arg(&launch.program)
            .args(&launch.arguments)
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log("out")?)
            .stderr(log("log")?)
            .spawn()
            .with_context(|| format!("cannot start {}", launch.program.display()))?;
        Ok(Self { launch, child })
    }

    /// What signals are sent to.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; `None` while it runs.
    ///
    /// # Errors
    /// When the system cannot say.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Ends it without warning.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Sends it a signal by name, `STOP` for example.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&self, signal: &str) -> anyhow::Result<()> {
        let status = Command::new("sh").args(["-c", &format!("kill -{signal} {}", self.pid())]).status()?;
        if !status.success() {
            bail!("{} cannot be sent SIG{signal}: it has ended", self.launch.name);
        }
        Ok(())
    }

    /// What it has written to standard output.
    pub fn output(&self) -> String {
        self.read("out")
    }

    /// Everything that it has logged.
    pub fn log(&self) -> String {
        self.read("log")
    }

    /// The last lines that it has written, for errors.
    pub fn log_end(&self) -> String {
        let text = self.read("log");
        let mut lines: Vec<&str> = text.lines().rev().take(LOG_LINES).collect();
        lines.reverse();
        format!("\n{}", lines.join("\n"))
    }

    fn read(&self, end: &str) -> String {
        let path = self.launch.dir.join(format!("{}.{end}", self.launch.name));
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Asks it to end, and kills it when it has not ended ten seconds later.
    fn ask_to_end(&mut self) -> std::io::Result<()> {
        let pid = self.pid();
        let asked = format!("kill -TERM {pid}; kill -CONT {pid}; sleep 10; kill -KILL {pid}");
        let mut watchdog =
            Command::new("sh").args(["-c", &asked]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        self.child.wait()?;
        watchdog.kill()?;
        watchdog.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let running = matches!(self.child.try_wait(), Ok(None));
        if running && self.launch.graceful && self.ask_to_end().is_ok() {
            return;
        }
        // It may have ended by itself; there is nothing else to do about a failure here.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_process_ends_with_its_handle() {
        let dir = tempfile::tempdir().unwrap();
        for graceful in [false, true] {
            let launch = Launch::new("sleep", "sleep".into(), vec!["600".into()], dir.path());
            let mut process = Process::start(Launch { graceful, ..launch }).unwrap();
            assert!(process.ended().unwrap().is_none());
            let pid = process.pid();
            drop(process);
            assert!(!Path::new(&format!("/proc/{pid}")).exists());
        }
    }

    #[test]
    fn output_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let arguments = vec!["-c".into(), "echo said; echo logged >&2".into()];
        let mut process = Process::start(Launch::new("echo", "sh".into(), arguments, dir.path())).unwrap();
        process.child.wait().unwrap();
        assert_eq!((process.output().as_str(), process.log_end().as_str()), ("said\n", "\nlogged"));
    }
}
