//! Memory that a guest shares with a server of the same host, and what is left where it does not.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::machine::{Setup, can_run};
use crate::served::Served;
use crate::{FUSED, POOLING, half_a_layer, small, trace};

/// The numbers of the memory files that a process has mapped.
fn memory_files(process: &str) -> BTreeSet<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let of_memory = maps.lines().filter(|line| line.contains("memory-backend-memfd"));
    of_memory.map(|line| line.split_whitespace().nth(4).unwrap().parse().unwrap()).collect()
}

#[test]
fn the_ram_that_qemu_takes_by_itself_is_mapped_by_the_server() {
    if !can_run("the_ram_that_qemu_takes_by_itself_is_mapped_by_the_server") {
        return;
    }
    let server = Served::named("nv_small");
    let script = half_a_layer().until_error("GLB.S_INTR_STATUS");
    let mut machine = Setup::new(script).connect(&server.address).start();
    machine.wait_for("running");
    // The server is in this process.
    let theirs = memory_files(&machine.process().to_string());
    assert_eq!(theirs.len(), 1);
    assert!(memory_files("self").is_superset(&theirs));
    server.kill();
    machine.passes();
    // The guest may have come to its end before the platform's thread has.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !memory_files("self").is_disjoint(&theirs) {
        assert!(Instant::now() < deadline, "the RAM of a guest that is gone is still mapped");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn ram_that_is_private_is_reached_by_messages_which_is_said_once() {
    if !can_run("ram_that_is_private_is_reached_by_messages_which_is_said_once") {
        return;
    }
    let server = Served::named("nv_small");
    let own = [
        "memory-backend-ram,id=ram,size=1100M",
        "memory-backend-memfd,id=ram,size=1100M,share=off",
        "memory-backend-memfd,id=ram,size=1100M,share=on,seal=off",
    ];
    for memory in own {
        let setup = Setup::new(small().layer(&trace(FUSED))).connect(&server.address);
        let told = setup.args(&["-object", memory, "-M", "memory-backend=ram"]).start().passes();
        assert_eq!(told.matches("is not shared with the server").count(), 1, "{memory}: {told}");
    }
}

#[test]
fn a_user_may_have_nothing_shared() {
    if !can_run("a_user_may_have_nothing_shared") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Served::at(folder.path(), "nv_small");
    let options = format!(",connect={},share=off", server.address);
    let setup = Setup::new(half_a_layer().until_error("GLB.S_INTR_STATUS")).plugin(&options);
    let mut machine = setup.start();
    machine.wait_for("running");
    assert!(memory_files(&machine.process().to_string()).is_empty());
    server.kill();
    machine.passes();
    let server = Served::at(folder.path(), "nv_small");
    let told = Setup::new(small().layer(&trace(POOLING))).plugin(&options).start().passes();
    assert_eq!(told.lines().count(), 1, "{told}");
    drop(server);
}
