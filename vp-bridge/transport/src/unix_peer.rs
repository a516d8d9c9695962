//! The user at the other end of a Unix socket, and whether a client may trust the server there.
//!
//! Whoever is first listens: while a server is down, another user of the host can listen in its place, wherever that user may make
//! a socket. Connecting does not show the difference. [`Stream::check_server`] asks the system whose process listens.

#![expect(unsafe_code, reason = "a call that rustix has only for peers whose process number is known here")]

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use crate::{Address, Socket, Stream};

/// Symbolic links that are followed on the way to a socket, at most: as many as the system follows (path_resolution(7)).
const MOST_LINKS: u32 = 40;

/// The process at the other end of a Unix socket, as it was when it connected or began to listen (SO_PEERCRED, unix(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixPeer {
    /// Effective user of the peer.
    pub uid: u32,
    /// Effective group of the peer.
    pub gid: u32,
    /// Process number of the peer; 0 if it is in a PID namespace that this process does not see.
    pub pid: i32,
}

impl UnixPeer {
    /// The process at the other end of a Unix socket.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut length = libc::socklen_t::try_from(size_of_val(&found)).unwrap_or(0);
        // rustix's `UCred` has no value for a process number of 0, which the system gives for a peer in another PID namespace.
        // SAFETY: the system writes no more than `length` bytes to `found`, and `length`; both outlive the call.
        let failed = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut found).cast(),
                &raw mut length,
            )
        };
        match failed {
            0 => Ok(Self { uid: found.uid, gid: found.gid, pid: found.pid }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// A server at a Unix socket is another user's, and the socket's path does not show that it is the right one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UntrustedServer {
    /// Every user of the host may listen at an abstract name.
    #[error(
        "user {uid} listens there, and every user of this host may listen at a name without a file: have the server listen at \
         unix:PATH, in a folder that only the server's user may write"
    )]
    Abstract {
        /// User who listens.
        uid: u32,
    },
    /// Others than the server's user could have put a socket there.
    #[error(
        "user {uid} listens there, and {} can be written by others: have the server listen in a folder that only the server's user \
         may write, below folders that only that user and root may write",
        folder.display()
    )]
    OpenFolder {
        /// User who listens.
        uid: u32,
        /// The folder of the socket, or one on the way to it.
        folder: PathBuf,
    },
    /// The socket is not in the server's own folder.
    #[error(
        "user {uid} listens there, and {} is a folder of user {owner}: have the server listen in a folder of its own user",
        folder.display()
    )]
    OthersFolder {
        /// User who listens.
        uid: u32,
        /// The folder of the socket, or one on the way to it.
        folder: PathBuf,
        /// Owner of the folder.
        owner: u32,
    },
    /// The socket's path is not known, or cannot be looked at.
    #[error("user {uid} listens there, and nothing shows that this is the right one")]
    Unknown {
        /// User who listens.
        uid: u32,
    },
}

/// A folder in which a part of a path is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder {
    path: PathBuf,
    owner: u32,
    mode: u32,
}

impl Folder {
    fn new(path: &Path, found: &Metadata) -> Self {
        Self { path: path.to_owned(), owner: found.uid(), mode: found.mode() }
    }

    /// Returns true if others than its owner may make files in it. In a folder with the sticky bit, such as /tmp, they may.
    fn is_open(&self) -> bool {
        self.mode & 0o022 != 0
    }
}

/// In a user namespace, each user of the host that has no number there (user_namespaces(7), overflowuid). Who has this number cannot tell
/// its own processes from those of others.
const UNMAPPED: u32 = 65_534;

/// Checks whether the server of user `uid` is trusted by user `own`, who has found its socket in the last of the folders of `way`. Their
/// own processes and those of root always are. Another user's is if the socket is in that user's folder, and nobody else but root and
/// `own` could have put it there: into the folder, or the folder into those above it.
fn check(uid: u32, own: u32, way: &[Folder]) -> Result<(), UntrustedServer> {
    if uid == 0 || (uid == own && uid != UNMAPPED) {
        return Ok(());
    }
    let Some(last) = way.last() else { return Err(UntrustedServer::Unknown { uid }) };
    if let Some(Folder { path, .. }) = way.iter().find(|folder| folder.is_open()) {
        return Err(UntrustedServer::OpenFolder { uid, folder: path.clone() });
    }
    // Who owns a folder may open it to others.
    let others = way.iter().find(|folder| ![0, own, uid].contains(&folder.owner));
    match others.or_else(|| Some(last).filter(|last| last.owner != uid)) {
        Some(Folder { path, owner, .. }) => {
            Err(UntrustedServer::OthersFolder { uid, folder: path.clone(), owner: *owner })
        }
        None => Ok(()),
    }
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}

/// The folders in which the system looks up the parts of a socket's path, symbolic links among them; that of the socket is the last.
fn way_to(socket: &Path) -> io::Result<Vec<Folder>> {
    let socket = std::path::absolute(socket)?;
    let mut at = PathBuf::from("/");
    let mut way = vec![Folder::new(&at, &fs::metadata(&at)?)];
    let mut left: Vec<OsString> = parts(&socket).collect();
    let mut links = 0;
    while let Some(part) = left.pop() {
        // `at` has no symbolic link in it: its parent is what the system takes for it.
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(part);
        let found = fs::symlink_metadata(&next)?;
        if found.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::from_raw_os_error(libc::ELOOP));
            }
            let target = fs::read_link(&next)?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            left.extend(parts(&target));
        } else if !found.is_dir() && left.is_empty() {
            // The socket.
            break;
        } else {
            way.push(Folder::new(&next, &found));
            at = next;
        }
    }
    // A path with `..` ends in a folder that came earlier.
    way.push(Folder::new(&at, &fs::metadata(&at)?));
    Ok(way)
}

impl Stream {
    /// Checks whether the server that was found at `address` may be trusted with a secret and with files. At a Unix socket it is a process
    /// of this process's own user or of root, or of the user whose folder the socket is in, if nobody else could have put it there: that
    /// folder, and every one on the way to it, is writable only for its owner, who is that user, root or this process's own user.
    /// Without an address only the first two are trusted.
    ///
    /// At other streams nothing can be checked in this way: with TLS the server's certificate says who it is, and over TCP nothing does.
    ///
    /// # Errors
    /// What the system says.
    pub fn check_server(&self, address: Option<&Address>) -> io::Result<Result<(), UntrustedServer>> {
        let Self::Socket(Socket::Unix(socket)) = self else { return Ok(Ok(())) };
        let (uid, own) = (UnixPeer::of(socket)?.uid, rustix::process::geteuid().as_raw());
        Ok(match address {
            Some(Address::Unix(path)) if vp_shm::unix::is_abstract(path) => {
                check(uid, own, &[]).map_err(|_| UntrustedServer::Abstract { uid })
            }
            // A path that cannot be looked at shows nothing.
            Some(Address::Unix(path)) => check(uid, own, &way_to(path).unwrap_or_default()),
            _ => check(uid, own, &[]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixStream;

    const OWN: u32 = 1000;
    const SERVER: u32 = 2000;
    const STRANGER: u32 = 3000;

    fn way(folders: &[(&str, u32, u32)]) -> Vec<Folder> {
        let folder = |&(path, owner, mode): &(&str, u32, u32)| Folder { path: path.into(), owner, mode };
        folders.iter().map(folder).collect()
    }

    #[test]
    fn ones_own_processes_and_those_of_root_are_trusted_wherever_they_listen() {
        let anywhere = [way(&[]), way(&[("/", 0, 0o755), ("/tmp", 0, 0o1777)])];
        for way in &anywhere {
            assert_eq!(
                (check(OWN, OWN, way), check(0, OWN, way), check(0, 0, way)),
                (Ok(()), Ok(()), Ok(()))
            );
            assert!(check(SERVER, OWN, way).is_err() && check(SERVER, 0, way).is_err());
        }
    }

    #[test]
    fn another_users_server_is_trusted_in_a_folder_where_nobody_else_can_have_put_it() {
        for (mode, owner) in [(0o755, 0), (0o700, SERVER), (0o2750, OWN)] {
            let safe = way(&[("/", 0, 0o755), ("/run", owner, mode), ("/run/vp", SERVER, 0o750)]);
            assert_eq!(check(SERVER, OWN, &safe), Ok(()), "{mode:o} {owner}");
        }
    }

    #[test]
    fn a_folder_that_others_may_write_says_nothing_of_who_listens_in_it_or_below() {
        let open = |folder: &str| Err(UntrustedServer::OpenFolder { uid: SERVER, folder: folder.into() });
        for mode in [0o777, 0o1777, 0o775, 0o757, 0o720] {
            assert_eq!(check(SERVER, OWN, &way(&[("/", 0, 0o755), ("/a", SERVER, mode)])), open("/a"));
            // Whoever may write to /a may have made /a/b.
            let below = way(&[("/", 0, 0o755), ("/a", 0, mode), ("/a/b", SERVER, 0o700)]);
            assert_eq!(check(SERVER, OWN, &below), open("/a"), "{mode:o}");
        }
    }

    #[test]
    fn a_folder_of_somebody_else_says_nothing_of_the_server() {
        let others = |owner, folder: &str| {
            Err(UntrustedServer::OthersFolder { uid: SERVER, folder: folder.into(), owner })
        };
        for owner in [STRANGER, OWN, 0] {
            let held = way(&[("/", 0, 0o755), ("/a", owner, 0o755)]);
            assert_eq!(check(SERVER, OWN, &held), others(owner, "/a"));
        }
        let below = way(&[("/", 0, 0o755), ("/a", STRANGER, 0o755), ("/a/b", SERVER, 0o700)]);
        assert_eq!(check(SERVER, OWN, &below), others(STRANGER, "/a"));
    }

    #[test]
    fn the_way_to_a_socket_has_the_folders_in_which_links_lie_and_those_to_which_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        // That of the system may be a link itself.
        let root = fs::canonicalize(folder.path()).unwrap();
        let at = |name: &str| root.join(name);
        for (name, mode) in [("open", 0o777), ("open/below", 0o700), ("closed", 0o700), ("closed/in", 0o700)]
        {
            fs::create_dir(at(name)).unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        }
        symlink(at("closed"), at("open/link")).unwrap();
        symlink("../open/link/in", at("closed/back")).unwrap();
        symlink("round", at("round")).unwrap();
        for socket in ["open/s", "open/below/s", "closed/s", "closed/in/s"] {
            fs::write(at(socket), []).unwrap();
        }
        symlink("../closed/s", at("open/last")).unwrap();
        let passed = |path: &str| {
            let way = way_to(&at(path)).unwrap();
            assert_eq!(way[0].path, Path::new("/"));
            let inside = way.into_iter().filter_map(|folder| {
                let name = folder.path.strip_prefix(&root).ok()?.to_str()?.to_owned();
                Some((name, folder.mode & 0o777))
            });
            inside.filter(|(name, _)| !name.is_empty()).collect::<Vec<_>>()
        };
        let [open, below, closed, inner] =
            [("open", 0o777), ("open/below", 0o700), ("closed", 0o700), ("closed/in", 0o700)]
                .map(|(name, mode)| (name.to_owned(), mode));
        let (open, below, closed, inner) = (&open, &below, &closed, &inner);
        let expect = |way: &[&(String, u32)]| way.iter().copied().cloned().collect::<Vec<_>>();
        assert_eq!(passed("open/below/s"), expect(&[open, below, below]));
        assert_eq!(passed("open/link/s"), expect(&[open, closed, closed]));
        assert_eq!(passed("open/last"), expect(&[open, closed, closed]));
        assert_eq!(passed("closed/back/s"), expect(&[closed, open, closed, inner, inner]));
        assert_eq!(passed("open/below/../../closed/s"), expect(&[open, below, closed, closed]));
        assert_eq!(passed("open/below/../s"), expect(&[open, below, open]));
        assert_eq!(way_to(&at("round/s")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert!(way_to(&at("nowhere/s")).is_err());
    }

    #[test]
    fn the_system_says_whose_process_is_at_the_other_end() {
        let (near, _far) = UnixStream::pair().unwrap();
        let own = rustix::process::geteuid().as_raw();
        let peer = UnixPeer::of(&near).unwrap();
        assert_eq!((peer.uid, peer.pid), (own, std::process::id().cast_signed()));
        let stream = Stream::Socket(Socket::Unix(near));
        assert_eq!(stream.check_server(None).unwrap(), Ok(()));
        let (inside, _far) = crate::in_process::pair();
        assert_eq!(inside.check_server(None).unwrap(), Ok(()));
    }
}
