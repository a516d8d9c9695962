//! The extension, which cargo builds beside the tests of the workspace, from the same libraries. `test.sh` makes a wheel of it.
#![cfg(target_os = "linux")]

#[test]
fn the_extension_has_what_python_calls() {
    let file = std::env::current_exe().unwrap().with_file_name("libvp_native.so");
    let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let name = b"PyInit__native";
    assert!(bytes.windows(name.len()).any(|part| part == name), "{}", file.display());
}
