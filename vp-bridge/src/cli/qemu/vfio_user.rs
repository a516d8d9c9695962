//! QEMU's own client of vfio-user: where it meets the server, and what QEMU is told.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, open};
use tempfile::TempDir;
use vp_transport::Address;

/// A socket in a folder of its own. QEMU's client takes no abstract ones.
pub(super) struct Place {
    folder: TempDir,
    socket: PathBuf,
}

/// The socket as a child finds it, as long as this is kept, though it has no name any more.
pub(super) struct Unnamed(OwnedFd);

impl Place {
    pub(super) fn new() -> io::Result<Place> {
        let folder = tempfile::Builder::new().prefix("vp-").tempdir()?;
        let socket = folder.path().join("vfio-user");
        Ok(Place { folder, socket })
    }

    /// Address at which the server listens.
    pub(super) fn address(&self) -> Address {
        Address::Unix(self.socket.clone())
    }

    /// Takes the socket's name away, once the server listens, so that nothing is left of it if this program is killed. A child has
    /// it by this descriptor, which it inherits.
    pub(super) fn for_child(&self) -> io::Result<Unnamed> {
        let socket = open(&self.socket, OFlags::PATH, Mode::empty())?;
        std::fs::remove_dir_all(self.folder.path())?;
        Ok(Unnamed(socket))
    }
}

impl Unnamed {
    fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}

/// Returns the arguments by which QEMU has the device, beside its own ones.
pub(super) fn arguments(own: &[OsString], socket: &Unnamed) -> Vec<String> {
    let device = serde_json::json!({
        "driver": "vfio-user-pci",
        "socket": { "type": "unix", "path": socket.path() },
    });
    let mut arguments = shared_memory(own);
    arguments.extend(["-device".to_owned(), device.to_string()]);
    arguments
}

/// RAM that the device accesses without messages, unless the user has chosen a memory, or its size cannot be told.
fn shared_memory(own: &[OsString]) -> Vec<String> {
    const OTHER: [&str; 3] = ["memory-backend", "-numa", "-mem-path"];
    let texts = || own.iter().filter_map(|arg| arg.to_str());
    if texts().any(|arg| OTHER.iter().any(|other| arg.contains(other))) {
        return Vec::new();
    }
    let after = |option: &'static str| texts().skip_while(move |arg| *arg != option).nth(1);
    let Some(size) = size(after("-m").unwrap_or("128")) else { return Vec::new() };
    let memory = format!("memory-backend-memfd,id=vp-ram,size={size},share=on");
    ["-object", &memory, "-machine", "memory-backend=vp-ram"].map(str::to_owned).into()
}

/// The size that QEMU makes of the value of `-m`: MiB where nothing else is said.
fn size(value: &str) -> Option<String> {
    let first = value.split(',').next()?;
    let size = first.strip_prefix("size=").unwrap_or(first);
    let digits = size.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match size.len() - digits.len() {
        _ if !is_number => None,
        0 => Some(format!("{size}M")),
        1 => Some(size.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(own: &[&str]) -> String {
        shared_memory(&own.iter().map(OsString::from).collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn the_guests_memory_is_one_that_can_be_shared_and_as_large_as_the_user_says() {
        for (own, size) in [
            (&["-m", "2048", "-nographic"][..], "2048M"),
            (&["-m", "2G"], "2G"),
            (&["-m", "size=3g,slots=2"], "3g"),
            (&[], "128M"),
        ] {
            let expected = format!(
                "-object memory-backend-memfd,id=vp-ram,size={size},share=on -machine memory-backend=vp-ram"
            );
            assert_eq!(memory(own), expected, "{own:?}");
        }
    }

    #[test]
    fn a_memory_that_the_user_has_chosen_stays() {
        for own in [
            &["-object", "memory-backend-file,id=a,size=1G,mem-path=/dev/shm/a"][..],
            &["-numa", "node"],
            &["-m", "1.5G"],
            &["-m", "1 G"],
        ] {
            assert_eq!(memory(own), "", "{own:?}");
        }
    }
}
