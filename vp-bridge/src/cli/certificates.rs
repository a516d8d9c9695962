//! `vp serve --make-certificates`: all that a lab needs for TLS, in one folder.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rand::TryRngCore as _;
use rand::rngs::OsRng;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use vp_transport::Address;

use super::Failure;
use crate::cli::out;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Time for which the certificates are valid.
const VALID: Duration = Duration::from_secs(365 * DAY.as_secs());

/// The name in the client's certificate, which a file of tokens may have.
const CLIENT: &str = "client";

/// Makes an authority, certificates of it for a server that listens there and for a client, and a token. The authority's key is not
/// kept: nobody can make more.
pub(super) fn make(folder: &Path, listen: &Address) -> Result<(), Failure> {
    let folder_made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    folder_made.map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    let mut authority = params(Vec::new(), "vp's authority for a lab")?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().map_err(Failure::new)?;
    let authority = CertifiedIssuer::self_signed(authority, key).map_err(Failure::new)?;
    let names = names(listen)?;
    write(folder, "ca.pem", 0o644, &authority.pem())?;
    let signed = [
        ("server", names.clone(), ExtendedKeyUsagePurpose::ServerAuth),
        ("client", vec![CLIENT.to_owned()], ExtendedKeyUsagePurpose::ClientAuth),
    ];
    for (whose, names, purpose) in signed {
        let mut params = params(names, whose)?;
        params.extended_key_usages = vec![purpose];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(Failure::new)?;
        let certificate = params.signed_by(&key, &authority).map_err(Failure::new)?;
        write(folder, &format!("{whose}.pem"), 0o644, &certificate.pem())?;
        write(folder, &format!("{whose}.key"), 0o600, &key.serialize_pem())?;
    }
    let mut secret = [0; 32];
    OsRng.try_fill_bytes(&mut secret).map_err(Failure::new)?;
    let token: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    write(folder, "token", 0o600, &format!("{token}\n"))?;
    let folder = folder.display();
    out::println!(
        "{folder}: ca.pem, server.pem and server.key for {}, client.pem and client.key, token; valid for a year\n\
         the server:  VP_TOKEN_FILE={folder}/token vp serve --listen tls:HOST:PORT --certificate {folder}/server.pem --key {folder}/server.key\n\
         a client:    VP_TOKEN_FILE={folder}/token VP_CA={folder}/ca.pem vp run TRACE --connect tls:HOST:PORT",
        names.join(", ")
    );
    Ok(())
}

/// The names by which a server that listens there is called.
fn names(listen: &Address) -> Result<Vec<String>, Failure> {
    let (Address::Tcp { host, .. } | Address::Tls { host, .. }) = listen else {
        return Err(Failure::new(format!(
            "{listen} needs no certificate: it cannot be reached by other hosts"
        ))
        .hint("say where the server will be: --listen tls:HOST:PORT"));
    };
    let mut names = vec![host.clone()];
    if host.parse().is_ok_and(|host: std::net::IpAddr| host.is_unspecified()) {
        let name = nix::unistd::gethostname().map_err(Failure::new)?;
        names = vec![name.to_string_lossy().into_owned()];
    }
    names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    names.sort();
    names.dedup();
    Ok(names)
}

fn params(names: Vec<String>, name: &str) -> Result<CertificateParams, Failure> {
    let mut params = CertificateParams::new(names).map_err(Failure::new)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let now = SystemTime::now();
    // Clocks differ.
    (params.not_before, params.not_after) = ((now - DAY).into(), (now + VALID).into());
    Ok(params)
}

/// Writes a new file, which has this mode from its first moment on.
fn write(folder: &Path, name: &str, mode: u32, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        Failure::new(format!("cannot write {}: {error}", path.display())).hint("name a new folder")
    })
}
