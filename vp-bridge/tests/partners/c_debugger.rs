//! A debugger in C (`clients/c`, `vp.h`): it stops the platform on which another program runs a layer, looks, and goes on.

use crate::common::process::Ended as _;
use std::process::Command;
use std::thread;

use crate::common::beside::{check, library, root, text};
use crate::common::{Served, TARGET, copy, local, pattern, run};
use vp_host::Host as _;
use vp_remote::RemoteOptions;
use vp_server::Options;

#[test]
fn a_debugger_in_c_stops_steps_and_looks_and_the_run_is_the_one_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("debugger");
    let build = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root().join("clients/c/include"))
        .arg(root().join("vp-bridge/tests/c/debugger.c"))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .ended();
    check("the debugger in C", &build);

    let (_, alone) = run(&copy(8, 8, 32), &mut local());
    let socket = format!("unix:{}", folder.path().join("vp.sock").display());
    let served = Served::at(&socket, Options { stopped: true, ..Options::default() });
    let mut host =
        served.join(RemoteOptions { platform: Some("lab".to_owned()), ..RemoteOptions::default() });
    let enable = host.map().find("PDP.D_OP_ENABLE").unwrap().address;
    let layer = thread::spawn(move || (run(&copy(8, 8, 32), &mut host).1, host));
    let debugged = Command::new(&program)
        .args([enable.to_string(), TARGET.to_string()])
        .env("VP_CONNECT", served.address.to_string())
        .ended();
    check("the debugger in C", &debugged);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected = [
        "`nowhere` is no server's address: write tcp:HOST:PORT, tls:HOST:PORT or unix:PATH".to_owned(),
        "begins 1 at 0".to_owned(),
        "breakpoints 1 2".to_owned(),
        "stopped 3 by 1".to_owned(),
        "enabled 1".to_owned(),
        "stepped 2 by 3000 ps".to_owned(),
        "memory 00000000".to_owned(),
        "stopped 3 by 2".to_owned(),
        "line.irq0 1".to_owned(),
        "unit.pdp idle, 1 begun and ended".to_owned(),
        format!("memory {}", hex(&pattern(4))),
        "-1 no memory `dbb7`: the platform has dbb0".to_owned(),
        "-1 there is no breakpoint 2".to_owned(),
        "runs 0".to_owned(),
    ];
    let shown = text(&debugged.stdout);
    let shown: Vec<&str> = shown.lines().collect();
    assert_eq!(shown.len(), expected.len(), "{shown:#?}");
    for (shown, expected) in shown.iter().zip(&expected) {
        assert!(shown.starts_with(expected), "{shown}, and not {expected}");
    }
    let (statistics, _host) = layer.join().unwrap();
    assert_eq!(statistics.text("events.hash"), alone.text("events.hash"));
}
