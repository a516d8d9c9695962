//! Calibration tables in place of samples.

use super::floats::network;
use super::lowered;
use proptest::prelude::*;
use vp_models::nvdla::numeric::Precision;
use vp_models::platform::Description;
use vp_onnx::lower::{Calibration, CalibrationTable, LowerError, LowerOptions, Lowered, lower};
use vp_tensors::Graph;
use vp_tests::effort::cases;

fn by_table(graph: &Graph, platform: &str, table: &CalibrationTable) -> Result<Lowered, LowerError> {
    let description = Description::named(platform).unwrap();
    let options = LowerOptions { precision: Some(Precision::Int8), ..LowerOptions::default() };
    lower(graph, &description.nvdla().unwrap().config, &options, Calibration::Table(table))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(10), ..ProptestConfig::default() })]

    #[test]
    fn a_table_gives_the_network_that_its_samples_gave(seed in any::<u64>(), is_large in any::<bool>()) {
        let platform = if is_large { "nv_large" } else { "nv_small" };
        let (graph, input) = network(seed);
        let by_samples = lowered(&graph, platform, Precision::Int8, &input).unwrap();
        let table = CalibrationTable::parse(by_samples.calibration.to_json().as_bytes()).unwrap();
        let again = by_table(&graph, platform, &table).unwrap();
        prop_assert_eq!(&again.network, &by_samples.network);
        prop_assert_eq!(again.tail_inputs, by_samples.tail_inputs);
    }
}

#[test]
fn values_that_a_table_lacks_are_named() {
    let (graph, _) = network(1);
    let table = CalibrationTable::parse(br#"{"x0": {"scale": 0.01}}"#).unwrap();
    let error = by_table(&graph, "nv_small", &table).unwrap_err();
    let LowerError::NoRange(names) = &error else { panic!("{error}") };
    assert!(!names.is_empty() && !names.contains(&"x0".to_owned()), "{error}");
    assert!(error.to_string().contains("give the calibration table a row for each"), "{error}");
}
