#![no_main]
libfuzzer_sys::fuzz_target!(|case: &[u8]| {
    vp_tests::fuzz::vfio_user::run(case);
});
