//! What a worker gives up before it sees a template.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Address space that is assumed to be in use where the system does not tell.
const ASSUMED: u64 = 256 << 20;

/// Closes what this process was given besides standard input, output and errors: whoever started the program may have
/// left files and sockets open. Nothing in this process knows them, so nothing misses them.
///
/// # Errors
/// When the system does not list them.
pub(crate) fn close_inherited() -> std::io::Result<()> {
    let mut open: Vec<i32> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"))? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        match nix::unistd::close(descriptor) {
            // The list's own descriptor is among them, and closed by now.
            Ok(()) | Err(nix::Error::EBADF) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// From here on: so much more memory, no new files and sockets, no writing to files, no core dumps.
///
/// # Errors
/// When the system refuses a limit.
pub(crate) fn confine(memory: u64) -> std::io::Result<()> {
    limit(Resource::As, mapped().saturating_add(memory))?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    // Standard input, output and errors are open already.
    limit(Resource::Nofile, 3)?;
    Ok(())
}

/// So much more CPU time from now on, whole seconds: the backstop for a parent that is gone or stuck.
///
/// # Errors
/// When the system refuses the limit.
pub(crate) fn allow_cpu(more: Duration) -> std::io::Result<()> {
    let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    let current = Some(used + more.as_secs() + 2);
    Ok(setrlimit(Resource::Cpu, Rlimit { current, maximum: None })?)
}

fn limit(resource: Resource, bytes: u64) -> std::io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(bytes), maximum: Some(bytes) })?)
}

/// The address space in use: the program, its libraries, its stack.
fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    pages.map_or(ASSUMED, |pages| pages * rustix::param::page_size() as u64)
}
