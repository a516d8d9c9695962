//! Counts what the models are held to, from the data that the tests use: the vendor's goldens, and what was measured on the RTL.

use crate::conformance::Test;
use crate::shared;
use rayon::prelude::*;
use std::path::PathBuf;
use vp_host::trace::{Trace, discover};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::rtl_tree::RtlTree;
use vp_study::rtl::measurements::Measurements;
use vp_study::rtl::modes::Mode;
use vp_study::rtl::proven::{Hardware, Map};
use vp_study::rtl::run::run;
use vp_study::rtl::table::{Row, Table};

/// Folders with measurements, and where their traces are.
const MEASURED: [(&str, &str); 3] = [
    ("nvdla/rtl-golden", "nvdla/traces"),
    ("nvdla/rtl-golden/more", "nvdla/rtl-golden/more/traces"),
    ("nvdla/rtl-golden/more/sequences", "nvdla/rtl-golden/more/sequences/traces"),
];

/// Traces are shared among configurations, and some program what theirs has not.
fn modes(trace: &Trace, config: &Config) -> Vec<Mode> {
    Mode::of_trace(trace, config).into_iter().filter(|mode| mode.is_in(config)).collect()
}

/// Plays everything. `None` where the data is not here.
///
/// # Panics
/// When something cannot be played, or leaves other bytes than its golden.
pub fn count(what: &str) -> Option<Map> {
    let mut map = Map::new();
    for (folder, traces) in MEASURED {
        let (folder, traces) = (shared::folder(what, folder)?, shared::folder(what, traces)?);
        let sources = discover(&traces).unwrap_or_else(|error| panic!("{error}"));
        let tables = Measurements::of(&folder).unwrap_or_else(|error| panic!("{error}")).tables;
        let rows: Vec<(&Table, &Row)> =
            tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row))).collect();
        let measured = rows.into_par_iter().filter_map(|(table, row)| {
            let is_it = |name: &str, config: Option<&str>| name == row.test && config == Some(&table.config);
            let source = sources.iter().find(|it| is_it(&it.name, it.configuration.as_deref()))?;
            let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
            let description = table.description(row.setting).unwrap_or_else(|error| panic!("{error}"));
            let run = run(&trace, &description).unwrap_or_else(|why| panic!("{}: {why}", row.test));
            let config = &description.nvdla()?.config;
            let hardware = Hardware::new(&config.name, table.tree);
            Some((hardware, modes(&trace, config), run.cycles, row.cycles))
        });
        for (hardware, modes, model, rtl) in measured.collect::<Vec<_>>() {
            for mode in modes {
                map.entry((hardware.clone(), mode)).or_default().count(model, rtl);
            }
        }
    }
    let tests = Test::all(&shared::folder(what, "nvdla/traces")?).into_iter();
    let mut goldens: Vec<(String, PathBuf)> =
        tests.filter(|test| !test.needs_absent_hardware).map(|test| (test.config, test.script)).collect();
    let of_c_model =
        discover(&shared::folder(what, "nvdla/cmod-golden")?).unwrap_or_else(|error| panic!("{error}"));
    goldens.extend(of_c_model.into_iter().filter_map(|it| Some((it.configuration?, it.script))));
    let goldens = goldens.into_par_iter().map(|(config, script)| {
        let config = Config::named(&config).unwrap_or_else(|error| panic!("{error}"));
        let trace = Trace::load(&script).unwrap_or_else(|error| panic!("{error}"));
        (Hardware::new(&config.name, RtlTree::published(&config)), modes(&trace, &config))
    });
    for (hardware, modes) in goldens.collect::<Vec<_>>() {
        for mode in modes {
            map.entry((hardware.clone(), mode)).or_default().goldens += 1;
        }
    }
    Some(map)
}
