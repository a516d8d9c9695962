//! A server with TLS that wants a token.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use vp_client::native::Token;
use vp_models::platform::Description;
use vp_server::{Access, Tokens};
use vp_transport::tls;

use crate::served::Served;

pub(crate) const TOKEN: &str = "guest-0123456789abcdef";

/// A secret's file, and what is in it.
pub(crate) fn keep(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// A server with certificate and token; `ca.pem` and `token` of the folder are what a client needs.
pub(crate) fn serve(folder: &Path) -> Served {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let [server_pem, server_key] = ["server.pem", "server.key"].map(|name| folder.join(name));
    std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    std::fs::write(&server_pem, certificate.pem()).unwrap();
    keep(&server_key, &key.serialize_pem());
    keep(&folder.join("token"), TOKEN);
    let access = Access {
        tokens: Tokens::of_one(&Token::new(TOKEN)).unwrap(),
        tls: Some(tls::Server::new(&server_pem, &server_key, None).unwrap()),
        ..Access::default()
    };
    let description = Description::named("nv_small").unwrap();
    Served::with_access("tls:127.0.0.1:0".parse().unwrap(), description, access)
}
