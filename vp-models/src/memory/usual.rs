//! Limit of the host's memory that RAM takes, where nobody says one.
//!
//! It is for programs whose peer decides what is written, such as a server or a client with memory of its own. A platform
//! built with [`Platform::build`](crate::platform::Platform::build) has no limit: what it does must not depend on the host.

/// Bytes that this machine has, or that this process may take if that is less, when the system does not say.
const UNKNOWN: u64 = 4 << 30;

/// A limit in bytes: half of what this process can have.
#[must_use]
pub fn usual_limit() -> u64 {
    let limits = [machine(), control_group(), address_space()];
    limits.into_iter().flatten().min().unwrap_or(UNKNOWN) / 2
}

/// The machine's memory (proc(5), `/proc/meminfo`).
fn machine() -> Option<u64> {
    total_memory(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn total_memory(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the bytes that a container may have (Linux, Documentation/admin-guide/cgroup-v2.rst, "memory.max").
fn control_group() -> Option<u64> {
    std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}

/// Returns the bytes that the shell lets a process map (`ulimit -v`; proc(5), `/proc/PID/limits`).
fn address_space() -> Option<u64> {
    soft_address_space(&std::fs::read_to_string("/proc/self/limits").ok()?)
}

fn soft_address_space(limits: &str) -> Option<u64> {
    let limits = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    // "unlimited" is no number.
    limits.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_limit_is_no_more_than_this_machine_has() {
        let usual = usual_limit();
        assert!(usual > 0 && machine().is_none_or(|machine| usual <= machine / 2));
    }

    #[test]
    fn what_the_system_says_is_read() {
        let meminfo = "MemTotal:       16311204 kB\nMemFree:          512345 kB\n";
        assert_eq!(total_memory(meminfo), Some(16_311_204 << 10));
        assert_eq!(total_memory("MemFree: 1 kB\n"), None);
        let limits = |soft: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max locked memory         8388608              8388608              bytes     \n\
                 Max address space         {soft}            unlimited            bytes     \n"
            )
        };
        assert_eq!(soft_address_space(&limits("2147483648")), Some(2 << 30));
        assert_eq!(soft_address_space(&limits("unlimited")), None);
        assert_eq!(soft_address_space(""), None);
    }
}
