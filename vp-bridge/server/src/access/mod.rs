//! Access control: who may connect, and what each session may do.

mod identity;
mod rights;
mod tokens;

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use nix::unistd::{Gid, Group, Uid, User, geteuid, getgrouplist};
use thiserror::Error;
use vp_transport::UnixPeer;
use vp_transport::tls::{self, TlsSocket};

pub(crate) use identity::SessionIdentity;
pub use rights::{Right, Rights, Role};
pub use tokens::Tokens;
pub(crate) use tokens::{TokenHolder, TokenUse};

/// The access rules of a server.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// True if anybody who can reach the server may connect: it listens beyond this host without TLS or without
    /// authentication.
    pub insecure: bool,
    /// The group whose users may connect at Unix sockets, besides the server's own user and root.
    pub group: Option<UserGroup>,
    /// The known tokens and certificates. If there are any, all other connections are refused, except those of
    /// the server's own user and of root at Unix sockets.
    pub tokens: Tokens,
    /// The certificate that is presented at an address for TLS, and the client certificates that are accepted
    /// there. A server listens nowhere else with it.
    pub tls: Option<tls::Server>,
}

/// A peer that need not authenticate.
#[derive(Debug)]
pub(crate) enum Known {
    /// By its certificate.
    TokenHolder(Arc<TokenHolder>),
    /// The server does not ask for authentication.
    Anybody,
}

/// A group of users of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserGroup {
    name: String,
    id: Gid,
}

/// Error of a group that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no group `{0}` on this host")]
pub struct NoSuchGroup(String);

impl UserGroup {
    /// The group of that name.
    ///
    /// # Errors
    /// There is no such group.
    pub fn named(name: &str) -> Result<Self, NoSuchGroup> {
        match Group::from_name(name) {
            Ok(Some(group)) => Ok(Self { name: name.to_owned(), id: group.gid }),
            _ => Err(NoSuchGroup(name.to_owned())),
        }
    }

    /// Opens a socket's file to the group.
    pub(crate) fn open(&self, path: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::{PermissionsExt as _, chown};
        // In this order: with the mode first, another group would be let in for a moment.
        chown(path, None, Some(self.id.as_raw()))?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))
    }

    /// Returns true if a user is in the group, by the process's own group or by the user database. Groups that only
    /// the process has, `setgroups(2)`, are not seen.
    fn has(&self, peer: UnixPeer) -> bool {
        if peer.gid == self.id.as_raw() {
            return true;
        }
        let Ok(Some(User { name, gid, .. })) = User::from_uid(Uid::from_raw(peer.uid)) else { return false };
        let Ok(name) = std::ffi::CString::new(name) else { return false };
        getgrouplist(&name, gid).is_ok_and(|groups| groups.contains(&self.id))
    }
}

/// Place that a connection is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An address of a network.
    Network(IpAddr, u16),
    /// A process of this host.
    Process(UnixPeer),
    /// A process that the system does not name.
    Unknown,
}

impl Origin {
    /// Returns true if the connection is from the server's own user, or root.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Process(UnixPeer { uid, .. }) if uid == geteuid().as_raw() || uid == 0)
    }
}

impl fmt::Display for Origin {
    /// For people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Network(address, port) => std::net::SocketAddr::new(address, port).fmt(f),
            Self::Process(UnixPeer { pid, .. }) => write!(f, "unix, process {pid}"),
            Self::Unknown => f.write_str("unix"),
        }
    }
}

impl Access {
    /// Returns what is known of a peer without authentication.
    pub(crate) fn known(&self, origin: Origin, tls: Option<&TlsSocket>) -> Option<Known> {
        let knows_clients = self.tls.as_ref().is_some_and(tls::Server::knows_clients);
        // Also of a peer without TLS: it then has nothing to show, and is not let in.
        let asks = !self.tokens.is_empty() || knows_clients;
        if !asks || origin.is_ours() {
            return Some(Known::Anybody);
        }
        let socket = tls?;
        match self.tokens.certificates() {
            // Every certificate is as good as any other.
            [] => socket.has_certificate().then_some(Known::Anybody),
            listed => {
                listed.iter().find(|holder| socket.peer_is(&holder.name)).cloned().map(Known::TokenHolder)
            }
        }
    }

    /// Returns what a client lacks that shows nothing.
    pub(crate) fn wanted(&self) -> &'static str {
        match self.tokens.has_tokens() {
            true => {
                "this server wants to know who comes: give the client a token (VP_TOKEN_FILE, or VP_TOKEN)"
            }
            false => {
                "this server wants to know who comes: give the client a certificate (VP_CERTIFICATE and VP_KEY)"
            }
        }
    }

    /// Returns the reason for which a peer may not even speak, if it may not.
    pub(crate) fn refusal(&self, origin: Origin) -> Option<String> {
        let peer = match origin {
            Origin::Network(..) => return None,
            Origin::Process(_) if origin.is_ours() => return None,
            Origin::Process(peer) => peer,
            Origin::Unknown => return Some("the system does not say whose process this is".to_owned()),
        };
        let who = peer.uid;
        match &self.group {
            Some(group) if group.has(peer) => None,
            Some(UserGroup { name, .. }) => Some(format!(
                "this socket is for the server's own user and the group {name}: user {who} is not in that group"
            )),
            None => Some(format!(
                "this socket is for the server's own user: start the server with --group to let user {who} in"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(uid: u32, gid: u32) -> Origin {
        Origin::Process(UnixPeer { uid, gid, pid: 1 })
    }

    #[test]
    fn a_unix_socket_is_for_its_user_and_root_and_for_those_of_the_group_that_is_named() {
        let (own, stranger) = (geteuid().as_raw(), 54_321);
        let access = Access::default();
        for ours in [own, 0] {
            assert_eq!(access.refusal(process(ours, 77)), None);
        }
        let refused = access.refusal(process(stranger, 77)).unwrap();
        assert!(refused.contains("user 54321") && refused.contains("--group"), "{refused}");
        assert!(access.refusal(Origin::Unknown).is_some());

        let group = UserGroup { name: "lab".to_owned(), id: Gid::from_raw(77) };
        let access = Access { group: Some(group), ..Access::default() };
        assert_eq!(access.refusal(process(stranger, 77)), None);
        let refused = access.refusal(process(stranger, 78)).unwrap();
        assert!(refused.contains("the group lab"), "{refused}");
    }

    #[test]
    fn a_group_has_the_users_that_the_database_says() {
        let root = UserGroup::named("root").unwrap();
        // Another group than its own, as `newgrp` leaves a process.
        assert!(root.has(UnixPeer { uid: 0, gid: 54_321, pid: 0 }));
        assert!(!root.has(UnixPeer { uid: 54_321, gid: 54_321, pid: 0 }));
        assert!(UserGroup::named("no such group").is_err());
    }
}
