/// Methods of a [`Host`](crate::Host) that a field, a host itself, answers:
/// `forward_host!(host: read, now, fetch);` in an `impl Host`.
#[macro_export]
macro_rules! forward_host {
    ($inner:tt: $($method:ident),+ $(,)?) => { $($crate::forward_host!(@ $inner $method);)+ };
    (@ $inner:tt write) => {
        fn write(&mut self, address: u32, value: u32) -> Result<(), $crate::HostError> {
            self.$inner.write(address, value)
        }
    };
    (@ $inner:tt write_acknowledged) => {
        fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), $crate::HostError> {
            self.$inner.write_acknowledged(address, value)
        }
    };
    (@ $inner:tt read) => {
        fn read(&mut self, address: u32) -> Result<u32, $crate::HostError> {
            self.$inner.read(address)
        }
    };
    (@ $inner:tt wait_interrupt) => {
        fn wait_interrupt(&mut self) -> Result<vp_core::Time, $crate::HostError> {
            self.$inner.wait_interrupt()
        }
    };
    (@ $inner:tt now) => {
        fn now(&mut self) -> Result<vp_core::Time, $crate::HostError> {
            self.$inner.now()
        }
    };
    (@ $inner:tt load) => {
        fn load(
            &mut self,
            memory: $crate::Memory,
            address: u64,
            bytes: &[u8],
        ) -> Result<(), $crate::HostError> {
            self.$inner.load(memory, address, bytes)
        }
    };
    (@ $inner:tt fetch) => {
        fn fetch(
            &mut self,
            memory: $crate::Memory,
            address: u64,
            bytes: &mut [u8],
        ) -> Result<(), $crate::HostError> {
            self.$inner.fetch(memory, address, bytes)
        }
    };
    (@ $inner:tt stream) => {
        fn stream(&mut self, bytes: &[u8]) -> Result<(), $crate::HostError> {
            self.$inner.stream(bytes)
        }
    };
    (@ $inner:tt map) => {
        fn map(&self) -> ::vp_models::nvdla::registers::RegisterMap {
            self.$inner.map()
        }
    };
    (@ $inner:tt device) => {
        fn device(&self) -> &str {
            self.$inner.device()
        }
    };
    (@ $inner:tt statistics) => {
        fn statistics(&mut self) -> Result<$crate::Statistics, $crate::HostError> {
            self.$inner.statistics()
        }
    };
    (@ $inner:tt activity) => {
        fn activity(&mut self) -> Option<$crate::Activity> {
            self.$inner.activity()
        }
    };
    (@ $inner:tt warnings) => {
        fn warnings(&mut self) -> Vec<$crate::Warning> {
            self.$inner.warnings()
        }
    };
    (@ $inner:tt inject_faults) => {
        fn inject_faults(&mut self, faults: &str) -> Result<(), $crate::HostError> {
            self.$inner.inject_faults(faults)
        }
    };
    (@ $inner:tt set_limit) => {
        fn set_limit(&mut self, limit: vp_core::Time) {
            self.$inner.set_limit(limit);
        }
    };
}
