//! A session that only looks at what a shared platform says of itself.

use std::collections::HashMap;

use vp_client::native::{CounterValue, TimeMode};
use vp_client::{Address, Client, Options};

/// As long as there is one the platform stays.
pub(crate) struct Watcher(Client<()>);

impl Watcher {
    /// Joins the platform of that name, and makes it if there is none.
    pub(crate) fn join(address: &Address, platform: &str, time_mode: TimeMode) -> Watcher {
        let options = Options { platform: Some(platform.into()), time_mode, ..Options::new("watcher") };
        Watcher(Client::connect(address, &options, ()).expect("a server"))
    }

    /// The counters whose name starts so.
    pub(crate) fn counters(&mut self, prefix: &str) -> HashMap<String, CounterValue> {
        let counters = self.0.counters(prefix).expect("counters");
        counters.into_iter().map(|counter| (counter.name, counter.value)).collect()
    }
}
