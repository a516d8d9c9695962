//! TLS between `vp` as a user types it, and clients: certificates, tokens, and what is said where one of both is wrong.

use crate::common;
use crate::common::process::Ended as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::common::beside::{VP, check, root, text};
use crate::common::raw::{CSB, DBB, Raw};
use crate::common::run;
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;
use vp_client::{Client, ConnectError, Credentials, Options as ClientOptions};
use vp_protocols::native::{Connection, ErrorCode, Role, TimeMode};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_transport::{Address, tls};

/// A lab's folder, as `vp serve --make-certificates` makes it.
fn lab() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made = vp()
        .args(["serve", "--listen", "tls:127.0.0.1:0", "--make-certificates"])
        .arg(folder.path())
        .output();
    check("vp serve --make-certificates", &made.unwrap());
    folder
}

/// `vp`, with nothing in its environment to be let in by.
fn vp() -> Command {
    let mut command = Command::new(VP);
    for name in ["VP_TOKEN", "VP_TOKEN_FILE", "VP_CA", "VP_CERTIFICATE", "VP_KEY"] {
        command.env_remove(name);
    }
    command.env("RUST_BACKTRACE", "0");
    command
}

/// A server that ends with the test.
struct Serving {
    child: Child,
    address: Address,
}

impl Serving {
    fn new(command: &mut Command) -> Serving {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = line.trim().strip_prefix("listening on ");
        let Some(address) = said.map(|address| address.parse().unwrap()) else {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("{line}{said}");
        };
        Serving { child, address }
    }

    /// One with TLS and a lab's certificate; its other arguments.
    fn tls(lab: &Path, more: &[&str]) -> Serving {
        let mut command = vp();
        command.args(["serve", "--listen", "tls:127.0.0.1:0", "--certificate"]).arg(lab.join("server.pem"));
        command.arg("--key").arg(lab.join("server.key")).args(more);
        Serving::new(&mut command)
    }

    /// Ends it, and gives what it has logged.
    fn log(mut self) -> String {
        self.child.kill().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Credentials of a client: whom it trusts, and what it shows.
fn credentials(lab: &Path, token: Option<&str>) -> Credentials {
    let tls = tls::Client::new(&lab.join("ca.pem"), None).unwrap();
    Credentials { token: token.map(vp_client::native::Token::new), tls: Some(tls) }
}

fn connect(address: &Address, credentials: Credentials) -> Result<Client<()>, ConnectError> {
    Client::connect(address, &ClientOptions { credentials, ..ClientOptions::new("test 1.0") }, ())
}

fn said(result: Result<Client<()>, ConnectError>) -> String {
    result.err().expect("it was let in").to_string()
}

fn token(lab: &Path) -> String {
    std::fs::read_to_string(lab.join("token")).unwrap().trim().to_owned()
}

#[test]
fn a_labs_certificates_are_made_once_and_their_keys_are_for_their_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let lab = lab();
    let mode = |name| std::fs::metadata(lab.path().join(name)).unwrap().permissions().mode() & 0o777;
    for secret in ["server.key", "client.key", "token"] {
        assert_eq!(mode(secret), 0o600, "{secret}");
    }
    assert_eq!(token(lab.path()).len(), 64);
    let again =
        vp().args(["serve", "--listen", "tls:127.0.0.1:0", "--make-certificates"]).arg(lab.path()).output();
    let again = again.unwrap();
    assert!(!again.status.success() && text(&again.stderr).contains("name a new folder"), "{again:?}");
}

#[test]
fn a_run_over_tls_is_that_without_it_and_its_token_is_nowhere_to_be_read() {
    let lab = lab();
    let token = token(lab.path());
    let mut command = vp();
    command.env("VP_TOKEN_FILE", lab.path().join("token"));
    command
        .args(["serve", "--listen", "tls:127.0.0.1:0", "--certificate"])
        .arg(lab.path().join("server.pem"));
    let served =
        Serving::new(command.arg("--key").arg(lab.path().join("server.key")).env("RUST_LOG", "trace"));
    let run = |token: Option<&str>| {
        let mut command = vp();
        command.arg("run").arg(root().join("traces/nv_small/pdp_max_3x3_s2_16x16x16")).arg("--connect");
        command.arg(served.address.to_string()).env("VP_CA", lab.path().join("ca.pem"));
        command.env("RUST_LOG", "trace");
        token.map(|token| command.env("VP_TOKEN", token));
        command.ended()
    };
    let Output { status, stdout, stderr } = run(Some(&token));
    assert!(status.success(), "{}", text(&stderr));
    assert!(!text(&stdout).contains(&token) && !text(&stderr).contains(&token));
    let local = vp().arg("run").arg(root().join("traces/nv_small/pdp_max_3x3_s2_16x16x16")).ended();
    let rows = |output: &[u8]| -> Vec<String> {
        text(output).lines().filter(|line| line.ends_with("PASS")).map(str::to_owned).collect()
    };
    assert!(!rows(&stdout).is_empty());
    assert_eq!(rows(&stdout), rows(&local.stdout));

    let wrong = "wrong-token-0123456789abcdef";
    for (token, said) in [(None, "VP_TOKEN_FILE"), (Some(wrong), "the token is not known")] {
        let refused = run(token);
        let told = text(&refused.stderr);
        assert!(!refused.status.success() && told.contains(said), "{told}");
        assert!(!told.contains(wrong), "{told}");
    }
    let process = format!("/proc/{}/cmdline", served.child.id());
    let arguments = std::fs::read(process).unwrap();
    assert!(!text(&arguments).contains(&token));
    let log = served.log();
    assert!(log.contains("the token is not known"), "{log}");
    assert!(!log.contains(&token) && !log.contains(wrong), "{log}");
}

#[test]
fn memory_of_the_client_crosses_tls_in_both_directions() {
    let lab = lab();
    let served = Serving::tls(lab.path(), &[]);
    let copy = common::copy(64, 512, 8);
    run(&copy, &mut common::local());
    for memory in [MemoryPlace::Client, MemoryPlace::Inside] {
        let credentials = credentials(lab.path(), None);
        let options = RemoteOptions { memory, credentials, ..RemoteOptions::default() };
        let mut host = RemoteHost::connect(&served.address, options).unwrap();
        run(&copy, &mut host);
    }
}

#[test]
fn certificates_that_are_not_right_are_refused_by_name() {
    let (ours, theirs) = (lab(), lab());
    let served = Serving::tls(ours.path(), &[]);
    let told = said(connect(&served.address, credentials(theirs.path(), None)));
    assert!(told.contains("not of the authority that is trusted"), "{told}");

    let told = said(connect(&served.address, Credentials::default()));
    assert!(told.contains("set VP_CA"), "{told}");

    let other = other_server(ours.path(), "elsewhere.example", 4000);
    let told = said(connect(&other.0.address, credentials(&other.1, None)));
    assert!(told.contains("is for another name") && told.contains("elsewhere.example"), "{told}");
    let old = other_server(ours.path(), "127.0.0.1", 2001);
    let told = said(connect(&old.0.address, credentials(&old.1, None)));
    assert!(told.contains("has expired"), "{told}");
}

/// A server with another certificate: for that name, until that year; and where its authority's is.
fn other_server(folder: &Path, name: &str, year: i32) -> (Serving, PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder.join(format!("{name}-{year}"));
    std::fs::create_dir(&folder).unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(year, 1, 1));
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    std::fs::write(folder.join("server.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
    std::fs::set_permissions(folder.join("server.key"), std::fs::Permissions::from_mode(0o600)).unwrap();
    (Serving::tls(&folder, &[]), folder)
}

#[test]
fn a_client_is_let_in_by_its_certificate_and_has_the_rights_of_its_name() {
    use std::os::unix::fs::PermissionsExt as _;
    let lab = lab();
    let authority = lab.path().join("ca.pem");
    let own = [lab.path().join("client.pem"), lab.path().join("client.key")];
    let tls = tls::Client::new(&authority, Some((&own[0], &own[1]))).unwrap();
    let known = Credentials { token: None, tls: Some(tls) };
    let client_ca = ["--client-ca", authority.to_str().unwrap()];

    // Alone it is for everything; who shows nothing stays out.
    let served = Serving::tls(lab.path(), &client_ca);
    let mut client = connect(&served.address, known.clone()).unwrap();
    client.attach(CSB, Role::Initiator, None).unwrap();
    let told = said(connect(&served.address, credentials(lab.path(), None)));
    assert!(told.contains("VP_CERTIFICATE and VP_KEY"), "{told}");
    // A certificate of somebody else is none.
    let stranger = self::lab();
    let own = [stranger.path().join("client.pem"), stranger.path().join("client.key")];
    let tls = tls::Client::new(&authority, Some((&own[0], &own[1]))).unwrap();
    let told = said(connect(&served.address, Credentials { token: None, tls: Some(tls) }));
    assert!(told.contains("the server does not trust this client's certificate"), "{told}");

    let tokens = lab.path().join("tokens.toml");
    std::fs::write(&tokens, "[[certificate]]\nname = 'client'\nroles = ['memory']\n").unwrap();
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o600)).unwrap();
    let more = [&client_ca[..], &["--tokens", tokens.to_str().unwrap()]].concat();
    let served = Serving::tls(lab.path(), &more);
    let mut client = connect(&served.address, known).unwrap();
    client.attach(DBB, Role::Target, None).unwrap();
    let error = client.attach(CSB, Role::Initiator, None).unwrap_err().to_string();
    assert_eq!(error, "`client` lacks the right `cpu`: registers, and letting time move");
}

#[test]
fn a_run_is_the_same_over_a_network_that_cuts_every_record() {
    let lab = lab();
    let served = Serving::tls(lab.path(), &[]);
    let Address::Tls { host, port } = served.address.clone() else { unreachable!() };
    let trace = common::copy(8, 8, 32);
    let (_, wanted) = run(&trace, &mut common::local());
    for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
        let port = common::relay::relay(port, 1).port();
        let options =
            RemoteOptions { memory, credentials: credentials(lab.path(), None), ..RemoteOptions::default() };
        let address = Address::Tls { host: host.clone(), port };
        let (_, statistics) = run(&trace, &mut RemoteHost::connect(&address, options).unwrap());
        assert_eq!(statistics.text("events.hash"), wanted.text("events.hash"));
    }
}

#[test]
fn who_speaks_tls_and_who_does_not_are_told_of_each_other() {
    let lab = lab();
    let with_tls = Serving::tls(lab.path(), &[]);
    let Address::Tls { host, port } = with_tls.address.clone() else { unreachable!() };
    let without = Address::Tcp { host, port };
    let told = match connect(&without, Credentials::default()) {
        Err(ConnectError::Refused { code, reason, .. }) => (code, reason),
        other => panic!("{}", said(other)),
    };
    let right = "this port speaks TLS: write tls: in place of tcp:".to_owned();
    assert_eq!(told, (ErrorCode::UnexpectedMessage, right));

    let plain = Serving::new(vp().args(["serve", "--listen", "tcp:127.0.0.1:0"]));
    let Address::Tcp { host, port } = plain.address.clone() else { unreachable!() };
    let told = said(connect(&Address::Tls { host, port }, credentials(lab.path(), None)));
    assert!(told.contains("does not speak TLS there: write tcp: in place of tls:"), "{told}");
    // Both go on.
    connect(&with_tls.address, credentials(lab.path(), None)).unwrap();
    connect(&plain.address, Credentials::default()).unwrap();
    assert!(plain.log().contains("it speaks TLS at a port without it"));
}

#[test]
fn who_begins_no_handshake_holds_nobody_up() {
    let lab = lab();
    let served = Serving::tls(lab.path(), &[]);
    let Address::Tls { host, port } = &served.address else { unreachable!() };
    let _silent: Vec<TcpStream> =
        (0..4).map(|_| TcpStream::connect((host.as_str(), *port)).unwrap()).collect();
    connect(&served.address, credentials(lab.path(), None)).unwrap();
}

#[test]
fn beyond_this_host_nobody_listens_without_tls_and_a_token() {
    let lab = lab();
    let serve = |arguments: &[&str]| {
        let output = vp().arg("serve").args(arguments).ended();
        assert!(!output.status.success());
        text(&output.stderr)
    };
    let told = serve(&["--listen", "tcp:0.0.0.0:0"]);
    assert!(
        told.contains("other hosts can reach it, and it has no TLS") && told.contains("--insecure"),
        "{told}"
    );
    let (certificate, key) = (lab.path().join("server.pem"), lab.path().join("server.key"));
    let tls = ["--certificate", certificate.to_str().unwrap(), "--key", key.to_str().unwrap()];
    let told = serve(&[&["--listen", "tls:0.0.0.0:0"], &tls[..]].concat());
    assert!(told.contains("who connects is not asked who it is"), "{told}");
    let told = serve(&["--listen", "tls:127.0.0.1:0"]);
    assert!(told.contains("there is no certificate to be shown"), "{told}");
    let told = serve(&["--listen", "tcp:127.0.0.1:0", "--remote-port", "listen:tcp:0.0.0.0:0"]);
    assert!(told.contains("cannot listen on tcp:0.0.0.0:0"), "{told}");

    let said_aloud = Serving::new(vp().args(["serve", "--listen", "tcp:0.0.0.0:0", "--insecure"]));
    let log = said_aloud.log();
    assert!(log.contains("WARN") && log.contains("is insecure"), "{log}");
    let mut command = vp();
    command
        .args(["serve", "--listen", "tls:0.0.0.0:0"])
        .args(tls)
        .env("VP_TOKEN_FILE", lab.path().join("token"));
    let log = Serving::new(&mut command).log();
    assert!(!log.contains("insecure"), "{log}");
}

#[test]
fn certificates_for_an_address_without_tls_are_refused() {
    let lab = lab();
    let files = ["server.pem", "server.key", "ca.pem"].map(|name| lab.path().join(name));
    let [certificate, key, authority] = &files;
    let serve = |address: &str, is_asked: bool, has_token: bool| {
        let mut command = vp();
        command.args(["serve", "--listen", address, "--certificate"]).arg(certificate).arg("--key").arg(key);
        if is_asked {
            command.arg("--client-ca").arg(authority);
        }
        if has_token {
            command.env("VP_TOKEN_FILE", lab.path().join("token"));
        }
        let output = command.ended();
        assert!(!output.status.success());
        text(&output.stderr)
    };
    let unix = format!("unix:{}", lab.path().join("vp.sock").display());
    for (address, right) in [("tcp:127.0.0.1:0", "tls:127.0.0.1:0"), (&*unix, "tls:HOST:PORT")] {
        let what = |why: &str| {
            format!(
                "error: cannot listen on {address}: it has no TLS, so {why}\n       \
                 listen on {right}, or leave out --certificate, --key and --client-ca\n"
            )
        };
        let let_in = what("clients would be let in without the certificates that --client-ca is for");
        let unused = what("there is no use for --certificate and --key");
        for (is_asked, has_token, what) in
            [(true, false, &let_in), (true, true, &let_in), (false, false, &unused)]
        {
            let told = serve(address, is_asked, has_token);
            assert!(told.ends_with(what), "{told}");
        }
    }
}

#[test]
fn a_served_platform_keeps_the_rules_over_tls_and_with_a_token() {
    let lab = lab();
    let mut command = vp();
    let token = lab.path().join("token");
    command
        .args(["serve", "--listen", "tls:127.0.0.1:0", "--certificate"])
        .arg(lab.path().join("server.pem"));
    let served =
        Serving::new(command.arg("--key").arg(lab.path().join("server.key")).env("VP_TOKEN_FILE", &token));
    let output = vp()
        .args(["check-peer", &served.address.to_string(), "--protocol", "native", "--address", "0x1000"])
        .env("VP_TOKEN_FILE", &token)
        .env("VP_CA", lab.path().join("ca.pem"))
        .ended();
    let said = text(&output.stdout);
    assert!(output.status.success() && said.contains("kept    NP-27"), "{said}{}", text(&output.stderr));
}

#[test]
fn a_hello_whose_first_byte_is_that_of_tls_is_a_hello() {
    let served = Serving::new(vp().args(["serve", "--listen", "tcp:127.0.0.1:0"]));
    // 22 bytes of header: the first byte of a record of TLS's handshake.
    let hello = Connection::hello("1234", None, TimeMode::Lockstep);
    let mut connection = Connection::client(hello.clone()).unwrap();
    assert_eq!(connection.output().split()[0], 0x16);
    Raw::greet(&served.address, hello);
}
