//! A server whose platform's model never lets time move on: its sessions are told, and it ends with the last of them.

use std::sync::Arc;
use std::time::Duration;

use vp_core::{Sim, Time};
use vp_models::host::{Host as _, HostError};
use vp_models::platform::Description;
use vp_protocols::native::{Activity, TimeMode};

use super::instance::{Instance, PlatformCommand};
use super::{House, Options, Server};
use vp_remote::{RemoteHost, RemoteOptions};
use vp_transport::Address;

/// The name of the platform; sessions that name it share it.
const NAME: &str = "shared";
/// A wait that ends long before, or never.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of nv_small, and where it is.
async fn serve(delta_limit: u64) -> (Arc<House>, Address) {
    let description = Description::named("nv_small").unwrap();
    let options = Options { delta_limit, ..Options::default() };
    let server = Server::bind(&"tcp:127.0.0.1:0".parse().unwrap(), description, options).await.unwrap();
    let (house, address) = (server.house.clone(), server.local_address().clone());
    tokio::spawn(server.run(std::future::pending()));
    (house, address)
}

/// A client of the platform. Blocks.
fn client(address: &Address, time_mode: TimeMode) -> RemoteHost {
    let options = RemoteOptions { platform: Some(NAME.to_owned()), time_mode, ..RemoteOptions::default() };
    RemoteHost::connect(address, options).unwrap()
}

/// Has the platform's thread do something with its simulation.
fn tell(house: &House, what: impl FnOnce(&Sim) + Send + 'static) -> Instance {
    let instance = house.registry.find(Some(NAME)).expect("a platform of that name");
    instance.inbox().send(PlatformCommand::Do(Box::new(what))).unwrap();
    instance
}

/// A process that waits for delta cycles.
fn spin(sim: &Sim) {
    let clock = sim.clone();
    sim.process("spins", async move {
        loop {
            clock.wait(Time::ZERO).await;
        }
    });
}

/// A process that hardly ever comes back to the kernel.
fn spin_in_place(sim: &Sim) {
    let clock = sim.clone();
    sim.process("spins", async move {
        loop {
            clock.wait_until(Time::ZERO).await;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_platform_whose_time_stands_still_is_told_who_runs_and_a_reset_helps() {
    for model in [spin, spin_in_place] {
        let (house, address) = serve(50_000).await;
        let done = tokio::task::spawn_blocking(move || {
            let mut client = client(&address, TimeMode::Lockstep);
            tell(&house, model);
            // The second is not tried: time stands until a reset.
            for _ in 0..2 {
                let error = client.read(0).unwrap_err();
                let HostError::Livelock { report } = &error else { panic!("{error:?}") };
                assert!(report.contains("time stands still at 0 s while spins"), "{report}");
            }
            assert_eq!(client.status().unwrap().activity, Activity::Deadlocked);
            assert!(client.warnings().iter().any(|warning| warning.text.contains("stands still")));
            client.reset().unwrap();
            client.read(0).unwrap();
        });
        tokio::time::timeout(PATIENCE, done).await.expect("an end").unwrap();
    }
}

/// Its client asks again and again how the platform is.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_an_interrupt_in_free_mode_is_told_that_time_stands_still() {
    for model in [spin, spin_in_place] {
        let (house, address) = serve(500_000).await;
        let done = tokio::task::spawn_blocking(move || {
            let mut client = client(&address, TimeMode::Free);
            tell(&house, model);
            let error = client.wait_interrupt().unwrap_err();
            let HostError::Livelock { report } = &error else { panic!("{error:?}") };
            assert!(report.contains("while spins runs again and again"), "{report}");
        });
        tokio::time::timeout(PATIENCE, done).await.expect("an end").unwrap();
    }
}

/// There is no limit of delta cycles: nothing but the client's going ends the run.
#[tokio::test(flavor = "multi_thread")]
async fn a_platform_whose_time_stands_still_ends_when_its_last_session_has_gone() {
    for model in [spin, spin_in_place] {
        let (house, address) = serve(u64::MAX).await;
        let gone = tokio::task::spawn_blocking(move || {
            let client = client(&address, TimeMode::Free);
            let instance = tell(&house, model);
            drop(client);
            instance
        });
        let instance = gone.await.unwrap();
        let ended = async {
            while instance.inbox().is_open() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("the thread ends");
    }
}
