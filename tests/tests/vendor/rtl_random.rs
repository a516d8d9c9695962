//! Random layers and sequences of layers, which the project's own generators have drawn, and networks as its planner runs them, take
//! the RTL's cycles.

use vp_host::trace::{Trace, discover};
use vp_study::rtl::measurements::Measurements;
use vp_study::rtl::run::run;
use vp_study::rtl::table::Table;
use vp_tests::shared;

/// Cycles of a row, on the RTL and in the model.
struct Compared {
    name: String,
    rtl: u64,
    model: u64,
}

impl Compared {
    fn is_within(&self, percent: u64) -> bool {
        self.model.abs_diff(self.rtl) * 100 <= self.rtl * percent
    }
}

/// Runs the rows of the tables of these names in `more/FOLDER`. `None` where the data is not there.
fn rows(what: &str, folder: &str, tables: &[&str]) -> Option<Vec<Compared>> {
    let folder = shared::folder(what, &format!("nvdla/rtl-golden/more/{folder}"))?;
    let traces = discover(&folder.join("traces")).unwrap_or_else(|error| panic!("{error}"));
    let mut compared = Vec::new();
    for name in tables {
        let table =
            Table::read(&folder.join(format!("{name}.csv"))).unwrap_or_else(|error| panic!("{error}"));
        for row in &table.rows {
            let known = traces
                .iter()
                .find(|trace| trace.configuration.as_ref() == Some(&table.config) && trace.name == row.test);
            let Some(source) = known else { continue };
            let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
            let description = table.description(row.setting).unwrap_or_else(|error| panic!("{error}"));
            let run = run(&trace, &description).unwrap_or_else(|why| panic!("{}: {why}", row.test));
            assert!(run.right, "{}: its memory", row.test);
            let name = format!("{}, {}", row.test, row.setting);
            compared.push(Compared { name, rtl: row.cycles, model: run.cycles });
        }
    }
    assert!(!compared.is_empty(), "{what}: no row has its trace");
    let exact = compared.iter().filter(|row| row.rtl == row.model).count();
    shared::say(&format!("{what}: {exact} of {} rows take the RTL's cycles", compared.len()));
    Some(compared)
}

#[test]
fn random_layers_take_the_rtls_cycles() {
    let tables = ["nv_small", "nv_large.master", "nv_small_256_full.master"];
    let Some(rows) = rows("random layers on the RTL", "", &tables) else { return };
    let exact = rows.iter().filter(|row| row.rtl == row.model).count();
    assert!(exact * 100 >= rows.len() * 95, "{exact} of {} are equal", rows.len());
    let far: Vec<&str> = rows.iter().filter(|row| !row.is_within(1)).map(|row| row.name.as_str()).collect();
    assert!(far.is_empty(), "off by more than 1 %: {far:?}");
}

#[test]
fn sequences_take_the_rtls_cycles() {
    let Some(rows) = rows("sequences on the RTL", "sequences", &["nv_small", "nv_large.master"]) else {
        return;
    };
    let far: Vec<&str> = rows.iter().filter(|row| !row.is_within(1)).map(|row| row.name.as_str()).collect();
    assert!(far.is_empty(), "off by more than 1 %: {far:?}");
    let [rtl, model]: [u64; 2] =
        [rows.iter().map(|row| row.rtl).sum(), rows.iter().map(|row| row.model).sum()];
    assert!(model.abs_diff(rtl) * 1000 <= rtl, "all sequences: {model} cycles, the RTL {rtl}");
}

#[test]
fn networks_take_the_rtls_cycles() {
    let Some(folder) = shared::folder("networks on the RTL", "nvdla/rtl-golden/more/networks") else {
        return;
    };
    let networks = Measurements::of(&folder).unwrap_or_else(|error| panic!("{error}")).networks;
    assert!(networks.iter().any(|row| row.total.is_some() && !row.steps.is_empty()), "totals and steps");
    for row in &networks {
        let run = row.run().unwrap_or_else(|why| panic!("{:?}: {why}", row.case));
        for (at, name, rtl) in &row.steps {
            let (of_model, model) = &run.steps[*at];
            assert_eq!(of_model, name);
            assert!(
                model.abs_diff(*rtl) * 100 <= *rtl,
                "{:?}: {name} takes {model}, the RTL {rtl}",
                row.case
            );
        }
        let (Some(rtl), model) = (row.total, run.total) else { continue };
        assert!(model.abs_diff(rtl) * 1000 <= rtl * 2, "{:?}: {model} in all, the RTL {rtl}", row.case);
    }
}
