//! What processes need.

use anyhow::Context as _;

/// Resident memory of a process, in bytes.
///
/// # Errors
/// When it has ended.
pub fn resident(pid: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a process without memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}
