//! Register round trips over TLS, beside the same over bare TCP.

use std::time::{Duration, Instant};

use vp_client::{Credentials, tls};
use vp_host::Host as _;
use vp_models::nvdla::registers::RegisterMap;
use vp_remote::{RemoteHost, RemoteOptions};

use crate::lab::{TOKEN, serve};
use crate::served::Served;
use crate::{Pairs, line};

const TURNS: u32 = 200;
const COUNT: u32 = 200;
const REGISTER: &str = "GLB.S_INTR_MASK";

/// Returns the time that a read takes.
fn read(host: &mut RemoteHost, address: u32) -> Duration {
    let began = Instant::now();
    for _ in 0..COUNT {
        host.read(address).expect("a value");
    }
    began.elapsed() / COUNT
}

/// A client of each, in turns.
pub(crate) fn measure() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plain, secure) =
        (Served::start("tcp:127.0.0.1:0".parse().expect("an address"), "nv_small"), serve(folder.path()));
    let tls = tls::Client::new(&folder.path().join("ca.pem"), None).expect("an authority");
    let credentials = Credentials { token: Some(vp_client::native::Token::new(TOKEN)), tls: Some(tls) };
    let connect = |server: &Served, credentials| {
        let options = RemoteOptions { credentials, ..RemoteOptions::default() };
        RemoteHost::connect(&server.address, options).expect("a session")
    };
    let mut plain = connect(&plain, Credentials::default());
    let mut secure = connect(&secure, credentials);
    let address = RegisterMap::Small.find(REGISTER).expect("a register").address;
    let mut pairs = Pairs::default();
    for _ in 0..TURNS {
        let before = read(&mut plain, address);
        pairs.add(before, read(&mut secure, address));
    }
    line("a register read, in µs (least): TCP, TLS, and how many times as long");
    line(&format!("{pairs}"));
}
