//! What processes and the machine use, read from `/proc`.

use std::time::Duration;

/// `/proc` counts time in hundredths of a second on every machine this runs on.
const TICKS_PER_SECOND: u64 = 100;

/// What one process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time of all its threads.
    pub cpu: Duration,
    /// Resident memory, bytes.
    pub rss: u64,
    /// How often its threads were given a core, by themselves or because others wanted it. Those that have ended are forgotten.
    pub wakeups: u64,
}

/// What a process has used; zero when it has ended.
pub fn usage(pid: u32) -> Usage {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    // The process counts in ticks and forgets nothing; its threads count exactly, while they live. Neither says too much.
    let exact = of_threads(pid, "schedstat").iter().map(|text| ran_of(text)).sum();
    let wakeups = of_threads(pid, "status").iter().map(|text| switches_of(text)).sum();
    Usage { cpu: cpu_of(&stat).max(exact), rss: rss_of(&status), wakeups }
}

/// What a file says of each thread.
fn of_threads(pid: u32, file: &str) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| std::fs::read_to_string(thread.path().join(file)).ok()).collect()
}

/// How long a thread ran; nothing where the kernel does not count it.
fn ran_of(schedstat: &str) -> Duration {
    let nanoseconds = schedstat.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// CPU time that the whole machine was busy since it started, over all cores.
pub fn busy() -> Duration {
    busy_of(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// The load averages of 1, 5 and 15 minutes.
pub fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Cores, processor and memory in one line.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let value = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_else(|| "unknown".into())
    };
    format!(
        "{cores} cores ({}), memory {}",
        value("/proc/cpuinfo", "model name"),
        value("/proc/meminfo", "MemTotal")
    )
}

/// The name of the program stands in parentheses and may hold anything; what is counted follows it.
fn cpu_of(stat: &str) -> Duration {
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let mut fields = fields.split_whitespace().skip(11).map_while(|field| field.parse::<u64>().ok());
    ticks(fields.next().unwrap_or(0) + fields.next().unwrap_or(0))
}

fn rss_of(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn switches_of(status: &str) -> u64 {
    let count = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.ends_with("voluntary_ctxt_switches").then(|| value.trim().parse::<u64>().ok())?
    };
    status.lines().filter_map(count).sum()
}

/// User, nice, system, (idle, waiting,) interrupts and time stolen by other machines.
fn busy_of(stat: &str) -> Duration {
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<u64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let counted = fields.iter().enumerate().filter(|(index, _)| !matches!(index, 3 | 4) && *index < 8);
    ticks(counted.map(|(_, ticks)| ticks).sum())
}

fn ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_whatever_the_program_is_called() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 7 7 20 0 1 0 5 1000 200";
        assert_eq!(cpu_of(stat), Duration::from_secs(2));
        assert_eq!(cpu_of(""), Duration::ZERO);
    }

    #[test]
    fn memory_and_the_machines_time_are_read() {
        assert_eq!(rss_of("Name:\tx\nVmRSS:\t    2048 kB\n"), 2 << 20);
        assert_eq!(busy_of("cpu  100 0 100 9999 9999 0 0 100 50 0\ncpu0 1"), Duration::from_secs(3));
    }

    #[test]
    fn what_a_thread_ran_is_counted_in_nanoseconds() {
        assert_eq!((ran_of("1500000000 20 3"), ran_of("")), (Duration::from_millis(1500), Duration::ZERO));
    }

    #[test]
    fn switches_of_both_kinds_count() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!((switches_of(status), switches_of("")), (15, 0));
    }

    #[test]
    fn this_process_uses_something() {
        let used = usage(std::process::id());
        assert!(used.rss > 0 && used.wakeups > 0);
    }
}
