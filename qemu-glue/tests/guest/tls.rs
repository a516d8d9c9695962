//! A guest whose device is on a server that asks who comes, behind TLS.

use crate::lab::{TOKEN, keep, serve};
use crate::machine::{Setup, can_run};
use crate::{FUSED, small, trace};

#[test]
fn a_guest_runs_a_layer_on_a_server_with_tls_that_wants_a_token() {
    if !can_run("a_guest_runs_a_layer_on_a_server_with_tls_that_wants_a_token") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let device = |options: &str| {
        Setup::new(small().layer(&trace(FUSED)))
            .plugin(&format!(",connect={}{options}", server.address))
            .start()
    };
    let told = device(&format!(",ca={},token-file={}", file("ca.pem"), file("token"))).passes();
    assert!(told.contains("nv_small at tls:127.0.0.1:"), "{told}");
    assert!(!told.contains(TOKEN), "{told}");

    // Without them there is no device, and QEMU does not start.
    let told = device(&format!(",ca={}", file("ca.pem"))).refuses();
    assert!(told.contains("this server wants to know who comes"), "{told}");
    assert!(told.contains("here that is token-file=FILE"), "{told}");
    let told = device("").refuses();
    assert!(told.contains("whom to trust is not said: add ca=FILE"), "{told}");
    keep(&folder.path().join("wrong"), "wrong-0123456789abcdef");
    let told = device(&format!(",ca={},token-file={}", file("ca.pem"), file("wrong"))).refuses();
    assert!(told.contains("the token is not known") && !told.contains("wrong-01234"), "{told}");
}
