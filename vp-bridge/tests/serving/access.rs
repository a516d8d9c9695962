//! Access to a server: who may come in, and what each may do there.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::Served;
use crate::common::program::ServeProgram;
use crate::common::raw::{CSB, DBB, IRQ, Raw};
use tempfile::TempDir;
use vp_client::{Client, ConnectError, Credentials, Error, Options as ClientOptions, SaveError};
use vp_protocols::native::{
    AccessKind as Kind, Attach, Capabilities, Connection, ErrorCode, Event, MemoryRead, MemoryWrite, Notice,
    PortEvent, PortId, Posted, Reaction, RegisterWrite, Reply, Request, Role, Time, TimeMode, Token, Until,
};
use vp_server::{Access, Options, Tokens};

const CPU: &str = "cpu-0123456789abcdef";
const ONCE: &str = "once-0123456789abc";
const OBSERVER: &str = "observer-0123456789";
const MEMORY: &str = "memory-0123456789";
const DEVICE: &str = "device-0123456789";
const ALL: &str = "everything-0123456789";

/// A token for each role.
fn tokens(folder: &Path) -> PathBuf {
    let text = format!(
        "[[token]]\nname = 'lab-cpu'\nsecret = '{CPU}'\nroles = ['cpu']\nplatforms = ['lab']\n\
         [[token]]\nname = 'once'\nsecret = '{ONCE}'\nroles = ['cpu']\nplatforms = ['lab']\nsessions = 1\n\
         [[token]]\nname = 'lab-observer'\nsecret = '{OBSERVER}'\nroles = ['observer']\nplatforms = ['*']\n\
         [[token]]\nname = 'lab-memory'\nsecret = '{MEMORY}'\nroles = ['memory']\nplatforms = ['lab']\n\
         [[token]]\nname = 'lab-device'\nsecret = '{DEVICE}'\nroles = ['device']\nplatforms = ['lab']\n\
         [[token]]\nname = 'all'\nsecret = '{ALL}'\nroles = ['cpu', 'memory', 'device']\nplatforms = ['*']\n"
    );
    let path = folder.join("tokens.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

fn serve() -> (Served, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::read(&tokens(folder.path())).unwrap();
    let access = Access { tokens, ..Access::default() };
    (Served::at("tcp:127.0.0.1:0", Options { access, ..Options::default() }), folder)
}

fn options(token: Option<&str>, platform: Option<&str>) -> ClientOptions {
    let credentials = Credentials { token: token.map(Token::new), tls: None };
    ClientOptions { credentials, platform: platform.map(str::to_owned), ..ClientOptions::new("test 1.0") }
}

fn connect(served: &Served, token: Option<&str>, platform: Option<&str>) -> Result<Client<()>, ConnectError> {
    Client::connect(&served.address, &options(token, platform), ())
}

fn refused(result: Result<Client<()>, ConnectError>) -> (ErrorCode, String) {
    match result {
        Err(ConnectError::Refused { code, reason, .. }) => (code, reason),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was let in"),
    }
}

#[test]
fn who_shows_the_right_token_is_let_in_and_nobody_else() {
    let (served, _folder) = serve();
    let mut client = connect(&served, Some(ALL), None).unwrap();
    client.attach(CSB, Role::Initiator, None).unwrap();
    client.read_register(CSB, 0x1000).unwrap();

    let (code, reason) = refused(connect(&served, None, None));
    assert_eq!(code, ErrorCode::NotAuthenticated);
    assert!(reason.contains("VP_TOKEN_FILE"), "{reason}");
    for wrong in ["wrong-0123456789", ""] {
        let (code, reason) = refused(connect(&served, Some(wrong), None));
        assert_eq!((code, &*reason), (ErrorCode::NotAuthenticated, "the token is not known"));
    }
    client.read_register(CSB, 0x1000).unwrap();
}

#[test]
fn a_wrong_token_is_answered_after_a_second() {
    let (served, _folder) = serve();
    let began = Instant::now();
    refused(connect(&served, Some("wrong-0123456789"), None));
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_right_token_is_let_in_while_others_guess_from_there() {
    let (served, _folder) = serve();
    let mut hello = Connection::hello("raw 1.0", None, TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
    let _guessing: Vec<Raw> = (0..12)
        .map(|_| {
            let mut raw = Raw::greet(&served.address, hello.clone());
            // All that a session may show, without waiting for an answer.
            for _ in 0..3 {
                raw.send(Request::Authenticate { token: Token::new("wrong-0123456789") });
            }
            raw.flush();
            raw
        })
        .collect();
    connect(&served, Some(ALL), None).unwrap();
}

#[test]
fn nothing_but_ping_is_answered_before_the_token() {
    let (served, _folder) = serve();
    let mut hello = Connection::hello("raw 1.0", Some("lab"), TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
    let mut raw = Raw::greet(&served.address, hello);
    assert!(raw.connection.capabilities().contains(Capabilities::AUTHENTICATION));
    assert_eq!(raw.ask(Request::Ping), Reply::Pong);
    let read = RegisterWrite { port: CSB, address: 0x1000, value: 1, at: None };
    for early in [
        Request::Status,
        Request::Reset,
        Request::RegisterWrite(read),
        Request::Attach(Attach { port: CSB, role: Role::Initiator, range: None }),
        Request::Advance { until: Until::Idle },
    ] {
        let reply = raw.ask(early);
        assert!(matches!(reply, Reply::Failed { code: ErrorCode::NotAuthenticated, .. }), "{reply:?}");
    }
    raw.connection.post(Posted::RegisterWrite(read), &[]).unwrap();
    // What is sent behind the token without waiting finds the platform.
    let token = Token::new(CPU);
    let first = raw.send(Request::Authenticate { token: token.clone() });
    let second = raw.send(Request::Attach(Attach { port: CSB, role: Role::Initiator, range: None }));
    for id in [first, second] {
        let (answered, _, reply) = raw.reply(&mut Vec::new());
        assert_eq!((answered, reply), (id, Reply::Done));
    }
    let again = raw.ask(Request::Authenticate { token });
    assert!(matches!(again, Reply::Failed { code: ErrorCode::Unsupported, .. }), "{again:?}");
}

/// By its prefix alone: nothing of the payload is sent.
#[test]
fn who_announces_a_long_payload_before_its_token_is_put_out_at_once() {
    let (served, _folder) = serve();
    let mut hello = Connection::hello("raw 1.0", None, TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
    let mut raw = Raw::greet(&served.address, hello);
    // 20 bytes of header, flags, 1 MiB of payload: within what was agreed.
    raw.stream.write_all(&[20, 0, 0, 0, 0, 0, 0x10, 0]).unwrap();
    let Event::Bye(bye) = raw.next() else { panic!("no farewell") };
    assert_eq!(bye.code, Some(ErrorCode::Malformed));
    assert!(bye.reason.contains("at most 8192"), "{}", bye.reason);
    // Behind a right token it is taken.
    let write = MemoryWrite {
        port: DBB,
        address: 0x8000_0000,
        length: 1 << 20,
        access: Kind::Debug,
        axi_id: 0,
        strobes: false,
        at: None,
    };
    let mut client = connect(&served, Some(ALL), None).unwrap();
    client.attach(DBB, Role::Initiator, None).unwrap();
    client.ask(Request::MemoryWrite(write), &vec![1_u8; 1 << 20]).unwrap();
}

#[test]
fn a_session_ends_with_its_third_wrong_token() {
    let (served, _folder) = serve();
    let mut hello = Connection::hello("raw 1.0", None, TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
    let mut raw = Raw::greet(&served.address, hello);
    for _ in 0..3 {
        let reply = raw.ask(Request::Authenticate { token: Token::new("wrong-0123456789") });
        assert!(matches!(reply, Reply::Failed { code: ErrorCode::NotAuthenticated, .. }), "{reply:?}");
    }
    let Event::Bye(bye) = raw.next() else { panic!("no farewell") };
    assert_eq!(bye.code, Some(ErrorCode::NotAuthenticated));
}

#[test]
fn who_says_nothing_more_than_hello_is_put_out() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::read(&tokens(folder.path())).unwrap();
    let access = Access { tokens, ..Access::default() };
    let handshake_timeout = Duration::from_millis(50);
    let served = Served::at("tcp:127.0.0.1:0", Options { access, handshake_timeout, ..Options::default() });
    let mut hello = Connection::hello("raw 1.0", None, TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
    let mut raw = Raw::greet(&served.address, hello);
    let Event::Bye(bye) = raw.next() else { panic!("no farewell") };
    assert_eq!(bye.code, Some(ErrorCode::NotAuthenticated));
}

#[test]
fn a_token_joins_its_platforms_only_and_has_so_many_sessions() {
    let (served, _folder) = serve();
    let (code, reason) = refused(connect(&served, Some(CPU), Some("other")));
    assert_eq!(code, ErrorCode::NotPermitted);
    assert_eq!(reason, "`lab-cpu` lacks the right to join the platform `other`");
    let first = connect(&served, Some(ONCE), Some("lab")).unwrap();
    let (code, reason) = refused(connect(&served, Some(ONCE), Some("lab")));
    assert_eq!((code, &*reason), (ErrorCode::NotPermitted, "`once` has 1 sessions, the most it may have"));
    drop(first);
    // Its end is noticed in the server's own time.
    while connect(&served, Some(ONCE), Some("lab")).is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn who_asks_to_look_only_where_that_is_not_granted_joins_its_tokens_platforms_only() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::read(&tokens(folder.path())).unwrap();
    let access = Access { tokens, ..Access::default() };
    let mut options = Options { access, ..Options::default() };
    options.terms.capabilities = options.terms.capabilities.difference(Capabilities::OBSERVER);
    let served = Served::at("tcp:127.0.0.1:0", options);
    let mut hello = Connection::hello("raw 1.0", Some("other"), TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION).union(Capabilities::OBSERVER);
    let mut raw = Raw::greet(&served.address, hello);
    let reply = raw.ask(Request::Authenticate { token: Token::new(CPU) });
    let Reply::Failed { code: ErrorCode::NotPermitted, reason } = &reply else { panic!("{reply:?}") };
    assert_eq!(reason, "`lab-cpu` lacks the right to join the platform `other`");
}

#[test]
fn the_welcome_has_the_mode_of_the_platform_and_its_time_comes_with_the_answer() {
    let (served, _folder) = serve();
    let mut first = connect(&served, Some(ALL), Some("lab")).unwrap();
    first.attach(CSB, Role::Initiator, None).unwrap();
    first.read_register(CSB, 0x1000).unwrap();
    let free = ClientOptions { time_mode: TimeMode::Free, ..options(Some(OBSERVER), Some("lab")) };
    let second = Client::connect(&served.address, &free, ()).unwrap();
    assert_eq!(second.welcome().time_mode, TimeMode::Lockstep);
    assert_eq!(second.welcome().time, first.time());
    assert!(second.time() > Time::ZERO);
    assert_eq!(second.welcome().platform, "lab");
}

/// All that needs a right, at the ports of nv_small, and which right that is.
fn deeds() -> Vec<(&'static str, Request)> {
    let attach = |port, role| Request::Attach(Attach { port, role, range: None });
    let read =
        MemoryRead { port: DBB, address: 0x8000_0000, length: 4, access: Kind::Debug, axi_id: 0, at: None };
    vec![
        ("cpu", attach(CSB, Role::Initiator)),
        ("cpu", Request::Advance { until: Until::Time(Time::ps(1)) }),
        ("cpu", Request::Step { to: Time::ps(1) }),
        ("reset", Request::Reset),
        ("faults", Request::Inject { length: 1 }),
        ("save", Request::Save { first: 0 }),
        ("save", Request::SaveDevice { first: 0 }),
        ("cpu", Request::AwaitRest { patience: 0 }),
        ("reset", Request::RestoreDevice { total: 2, first: 0, length: 1 }),
        ("own-memory", attach(DBB, Role::Target)),
        ("read-memory", Request::MemoryRead(read)),
        ("cpu", Request::MemoryRead(MemoryRead { at: Some(Time::ZERO), ..read })),
        ("statistics", Request::Status),
        ("statistics", Request::Statistics { prefix: String::new(), first: 0 }),
        ("", attach(IRQ, Role::Sink)),
        ("", Request::Ping),
        ("", attach(PortId(99), Role::Initiator)),
        ("a part", Request::Clock { reaction: Reaction::NextEdge, quantum: 0 }),
        ("device", attach(DBB, Role::Initiator)),
    ]
}

#[test]
fn a_role_does_what_it_has_a_right_to_and_is_told_what_it_lacks() {
    let (served, _folder) = serve();
    let roles: [(&str, &[&str]); 4] = [
        (CPU, &["cpu", "reset", "read-memory", "statistics", "a part"]),
        (OBSERVER, &["statistics"]),
        (MEMORY, &["own-memory", "a part"]),
        (DEVICE, &["device", "a part"]),
    ];
    for (token, rights) in roles {
        for (needed, deed) in deeds() {
            let mut client = connect(&served, Some(token), None).unwrap();
            // What a partner attaches to it drives: it is a master of its own.
            if needed == "device" && client.clock(Reaction::NextEdge, 0).is_err() {
                continue;
            }
            let payload: &[u8] = if matches!(deed, Request::Inject { .. } | Request::RestoreDevice { .. }) {
                b"#"
            } else {
                &[]
            };
            let result = client.ask(deed.clone(), payload);
            let lacks = match &result {
                Err(Error::Refused { code: ErrorCode::NotPermitted, reason }) => {
                    assert!(reason.contains("lacks the right `"), "{reason}");
                    true
                }
                Err(Error::Refused { .. }) | Ok(_) => false,
                Err(other) => panic!("{other}"),
            };
            // A request may need two rights: an access with a time of its own is refused for either.
            let may = needed.is_empty() || rights.contains(&needed);
            assert_eq!(lacks, !may, "{token}: {deed:?}: {result:?}");
            drop(client);
        }
    }
}

/// A token with the right to be a master, or the memory, does not get past the one that holds the registers.
#[test]
fn who_may_drive_a_memory_port_writes_no_register_there() {
    const SDP_S_POINTER: u64 = 0x9004;
    for (token, role) in [(DEVICE, Role::Initiator), (MEMORY, Role::Target)] {
        let (served, _folder) = serve();
        let mut partner = connect(&served, Some(token), Some("lab")).unwrap();
        partner.clock(Reaction::NextEdge, 0).unwrap();
        partner.attach(DBB, role, None).unwrap();
        let mut cpu = connect(&served, Some(CPU), Some("lab")).unwrap();
        cpu.attach(CSB, Role::Initiator, None).unwrap();
        let event = PortEvent::Register { address: SDP_S_POINTER, write: Some(1), posted: true };
        partner.drive(DBB, Time::ps(100_000), event, &[]).unwrap();
        partner.promise(0, None).unwrap();
        partner.serve().unwrap();
        cpu.advance(Until::Time(Time::ps(200_000))).unwrap();
        assert_eq!(cpu.read_register(CSB, SDP_S_POINTER).unwrap(), 0, "{token}");
        assert!(matches!(partner.ping(), Err(Error::Ended(_))), "{token}");
        let bye = partner.bye().unwrap();
        assert_eq!(bye.code, Some(ErrorCode::ContractBroken), "{}", bye.reason);
        assert!(bye.reason.contains("only the initiator of a register port does"), "{}", bye.reason);
    }
}

/// An observer calls a session's own platform so: nobody else's has such a name, wherever it is given.
#[test]
fn no_platform_is_called_as_a_sessions_own() {
    let (served, folder) = serve();
    for name in ["#1", "#", "#lab"] {
        let (code, reason) = refused(connect(&served, Some(ALL), Some(name)));
        assert_eq!(code, ErrorCode::PlatformUnavailable, "{name}");
        assert!(reason.contains("does not begin with `#`"), "{reason}");
        let path = folder.path().join("wrong.toml");
        let token =
            format!("[[token]]\nname = 'x'\nsecret = '{CPU}'\nroles = ['cpu']\nplatforms = ['{name}']\n");
        std::fs::write(&path, token).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let error = Tokens::read(&path).unwrap_err().to_string();
        assert!(error.contains("does not begin with `#`"), "{error}");
    }
}

/// The capability alone makes no partner.
#[test]
fn who_drives_a_port_without_a_clock_is_put_out() {
    let (served, _folder) = serve();
    let mut client = connect(&served, Some(ALL), None).unwrap();
    client.attach(DBB, Role::Target, None).unwrap();
    client.drive(DBB, Time::ZERO, PortEvent::Reset, &[]).unwrap();
    assert!(matches!(client.ping(), Err(Error::Ended(_))));
    assert_eq!(client.bye().unwrap().code, Some(ErrorCode::ContractBroken));
}

#[test]
fn a_platform_is_saved_for_who_has_the_right_to_it_and_for_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let text = "[[token]]\nname = 'cpu'\nsecret = 'cpu-0123456789abcdef'\nroles = ['cpu']\n\
                [[token]]\nname = 'keeper'\nsecret = 'keeper-0123456789abcdef'\nroles = ['cpu']\nrights = ['save']\n";
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let access = Access { tokens: Tokens::read(&file).unwrap(), ..Access::default() };
    let served = Served::at("tcp:127.0.0.1:0", Options { access, ..Options::default() });
    let save = |secret: &str| {
        let options = ClientOptions { time_mode: TimeMode::Lockstep, ..options(Some(secret), None) };
        let mut client = Client::connect(&served.address, &options, ()).unwrap();
        let mut saved = Vec::new();
        client.save(&mut saved, 1 << 30).map(|_| saved)
    };
    match save("cpu-0123456789abcdef") {
        Err(SaveError::Session(Error::Refused { code: ErrorCode::NotPermitted, reason })) => {
            let what = "all of the platform's state and memory, to go on from elsewhere";
            assert_eq!(reason, format!("`cpu` lacks the right `save`: {what}"));
        }
        other => panic!("{other:?}"),
    }
    assert!(save("keeper-0123456789abcdef").unwrap().starts_with(b"VPSV"));
}

#[test]
fn a_posted_write_without_its_right_changes_nothing_and_is_warned_of() {
    let (served, _folder) = serve();
    let mut cpu = connect(&served, Some(CPU), Some("lab")).unwrap();
    cpu.attach(DBB, Role::Initiator, None).unwrap();
    let mut hello = Connection::hello("raw 1.0", Some("lab"), TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::AUTHENTICATION);
    let mut raw = Raw::greet(&served.address, hello);
    assert_eq!(raw.ask(Request::Authenticate { token: Token::new(OBSERVER) }), Reply::Done);
    assert_eq!(raw.attach(DBB, Role::Initiator), Reply::Done);
    let write = MemoryWrite {
        port: DBB,
        address: 0x8000_0000,
        length: 4,
        access: Kind::Debug,
        axi_id: 0,
        strobes: false,
        at: None,
    };
    raw.connection.post(Posted::MemoryWrite(write), &[1; 4]).unwrap();
    let mut before = Vec::new();
    raw.send(Request::Ping);
    assert_eq!(raw.reply(&mut before).2, Reply::Pong);
    let [Event::Notice(Notice::Warning { text, .. })] = &before[..] else { panic!("{before:?}") };
    assert!(text.contains("`lab-observer` lacks the right `write-memory`"), "{text}");
    let mut found = [9; 4];
    cpu.read_memory(DBB, 0x8000_0000, &mut found).unwrap();
    assert_eq!(found, [0; 4]);
}

/// At an abstract socket, whose name everybody can connect to.
#[test]
fn a_process_of_another_user_is_turned_away_at_a_unix_socket() {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::process::CommandExt as _;
    let test = "a_process_of_another_user_is_turned_away_at_a_unix_socket";
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return tools::skipped(test, "only root can be another user");
    }
    let name = format!("unix:@vp-access-{}", std::process::id());
    let served = Served::at(&name, Options::default());
    connect(&served, None, None).unwrap();
    // Where everybody may start it.
    let folder = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
    let program = folder.path().join("vp");
    std::fs::copy(env!("CARGO_BIN_EXE_vp"), &program).unwrap();
    let output = std::process::Command::new(program)
        .args(["check-peer", &name, "--protocol", "native"])
        .current_dir("/")
        .uid(54_321)
        .gid(54_321)
        .ended();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("this socket is for the server's own user"), "{said}{output:?}");
    assert!(said.contains("user 54321"), "{said}");
}

/// Another user's server listens where the server should be.
#[test]
fn a_server_of_another_user_is_passed_no_files_where_everybody_could_have_put_it() {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    let test = "a_server_of_another_user_is_passed_no_files_where_everybody_could_have_put_it";
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return tools::skipped(test, "only root can be another user");
    }
    // Where everybody may start the program, and everybody may listen.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    let program = folder.path().join("vp");
    std::fs::copy(env!("CARGO_BIN_EXE_vp"), &program).unwrap();
    let socket = folder.path().join("vp.sock").display().to_string();
    for (name, why) in [
        (format!("unix:@vp-stranger-{}", std::process::id()), "may listen at a name without a file"),
        (format!("unix:{socket}"), "can be written by others"),
    ] {
        let mut command = Command::new(&program);
        command.args(["serve", "--listen", &name]).current_dir("/").uid(54_321).gid(54_321);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("listening on"), "{line}");
        let server = ServeProgram { child, address: name.parse().unwrap() };
        let connect = |options: ClientOptions| Client::connect(&server.address, &options, ());
        let error = connect(options(None, None)).err().expect("no session");
        assert!(matches!(error, ConnectError::UntrustedServer { .. }), "{error}");
        let told = error.to_string();
        assert!(told.contains("user 54321 listens there") && told.contains(why), "{told}");
        // Without files and a token there is nothing to keep back.
        connect(ClientOptions { share: false, ..options(None, None) }).unwrap().ping().unwrap();
        connect(ClientOptions::observer("test 1.0", None)).unwrap().platforms().unwrap();
    }
}

/// Each platform has a mebibyte from its beginning.
#[test]
fn a_token_has_no_more_memory_than_its_quota() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let text = "[[token]]\nname = 'small'\nsecret = 'small-0123456789abcdef'\nroles = ['cpu']\nmemory = '2 MiB'\n\
                [[token]]\nname = 'other'\nsecret = 'other-0123456789abcdef'\nroles = ['cpu']\n";
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let access = Access { tokens: Tokens::read(&file).unwrap(), ..Access::default() };
    let served = Served::at("tcp:127.0.0.1:0", Options { access, ..Options::default() });
    let begin = |secret: &str| {
        let mut client = connect(&served, Some(secret), None).map_err(|error| error.to_string())?;
        client.attach(CSB, Role::Initiator, None).map_err(|error| error.to_string())?;
        Ok::<_, String>(client)
    };
    let (first, second) =
        (begin("small-0123456789abcdef").unwrap(), begin("small-0123456789abcdef").unwrap());
    let refused = begin("small-0123456789abcdef").map(drop).unwrap_err();
    let limit = "the limit of 2097152 bytes for the memory of this token's platforms together is reached";
    assert!(refused.contains(limit), "{refused}");
    begin("other-0123456789abcdef").unwrap();
    drop((first, second));
    // Their platforms end when the server has noticed.
    let began = std::time::Instant::now();
    while let Err(refused) = begin("small-0123456789abcdef") {
        assert!(began.elapsed() < Duration::from_secs(60), "{refused}");
    }
}
