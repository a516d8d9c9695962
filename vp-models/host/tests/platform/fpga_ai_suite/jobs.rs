//! Inferences, and what the IP counts of them.

use super::*;
use vp_host::network::digits;

fn digits_on(architecture: &Architecture, count: usize) -> (Vec<Vec<i8>>, u64) {
    let model = Model::of_network(&digits::network()).unwrap();
    let samples = digits::samples();
    let inputs: Vec<&[i8]> = samples.iter().take(count).map(|sample| &sample.pixels[..]).collect();
    let mut host = host(architecture);
    let inferred = Driver::open(&mut host, architecture, &model, memory()).unwrap().infer(&inputs).unwrap();
    let outputs: Vec<Vec<i8>> = inferred.into_iter().map(|inference| inference.output).collect();
    for (output, input) in outputs.iter().zip(&inputs) {
        assert_eq!(output, &model.infer(input));
    }
    let cycles = host.statistics().unwrap().get("fpga_ai_suite.active").unwrap();
    (outputs, cycles)
}

#[test]
fn digits_are_told_apart_in_every_build() {
    let samples = digits::samples();
    for name in Architecture::NAMES {
        let (outputs, _) = digits_on(&Architecture::named(name).unwrap(), samples.len());
        let right =
            outputs.iter().zip(&samples).filter(|(output, sample)| digits::answer(output) == sample.label);
        // As many as on NVDLA: `vp demo`.
        assert_eq!(right.count(), 356, "{name}");
    }
}

#[test]
fn jobs_in_flight_overlap_and_leave_the_same() {
    let one = Architecture { jobs_in_flight: 1, ..Architecture::default() };
    let (apart, slow) = digits_on(&one, 12);
    let (together, fast) = digits_on(&Architecture::default(), 12);
    assert_eq!(apart, together);
    assert!(fast < slow, "{fast} and {slow} cycles");
}

#[test]
fn features_without_room_go_through_the_intermediate_buffer() {
    let small = Architecture { feature_buffer: 300, ..Architecture::default() };
    let (mut bytes, mut outputs) = (Vec::new(), Vec::new());
    for architecture in [&small, &Architecture::default()] {
        let model = Model::of_network(&digits::network()).unwrap();
        let sample = &digits::samples()[7].pixels;
        let mut host = host(architecture);
        let mut driver = Driver::open(&mut host, architecture, &model, memory()).unwrap();
        outputs.push(driver.infer(&[sample]).unwrap()[0].output.clone());
        let statistics = host.statistics().unwrap();
        bytes.push(["dbb0.write.bytes", "dbb0.read.bytes"].map(|name| statistics.get(name).unwrap()));
    }
    assert_eq!(outputs[0], outputs[1]);
    // Two layers of 8x8x16 and one of 4x4x32, each read once.
    let spilled = 2 * 8 * 8 * 16 + 4 * 4 * 32;
    assert_eq!([bytes[0][0] - bytes[1][0], bytes[0][1] - bytes[1][1]], [spilled, spilled]);
}

#[test]
fn counters_count_words_jobs_and_clocks() {
    let architecture = Architecture { memory_word: 16, ..Architecture::default() };
    let (mut host, model) = (host(&architecture), small());
    let mut driver = Driver::open(&mut host, &architecture, &model, memory()).unwrap();
    assert_eq!(driver.counters().unwrap().active_clocks, 0);
    let given = inputs(5);
    let given: Vec<&[i8]> = given.iter().map(Vec::as_slice).collect();
    let inferred = driver.infer(&given).unwrap();
    assert!(inferred.iter().zip(&given).all(|(inference, input)| inference.output == model.infer(input)));
    let counters = driver.counters().unwrap();
    assert_eq!(counters.complete, 5);
    assert_eq!([counters.input_words, counters.filter_words, counters.output_words], [5 * 4, 5 * 128, 5 * 2]);
    assert!(counters.active_clocks < counters.job_clocks, "{counters:?}");
    assert!(counters.job_clocks < 3 * counters.active_clocks, "three jobs at most: {counters:?}");
    assert_eq!(driver.counters().unwrap(), counters, "nothing runs any more");
    assert_eq!(
        (driver.debug(0x08).unwrap(), driver.debug(0x14).unwrap(), driver.debug(0xff0).unwrap()),
        (5, 0, 0)
    );
    let statistics = host.statistics().unwrap();
    assert_eq!(statistics.get("fpga_ai_suite.complete"), Some(5));
    assert_eq!(host.device(), "fpga-ai-suite");
}

#[test]
fn a_graph_may_say_how_long_a_layer_takes() {
    let clocks = |cycles| {
        let architecture = Architecture::default();
        let (mut host, mut model) = (host(&architecture), small());
        let mut graph = Graph::new(model.graph.input(), model.graph.filter_bytes()).unwrap();
        graph.add(Tensor::Input, model.graph.layers()[0].operation.clone(), Some(cycles)).unwrap();
        model.graph = graph.whole().unwrap();
        let mut driver = Driver::open(&mut host, &architecture, &model, memory()).unwrap();
        driver.infer(&[&inputs(1)[0]]).unwrap();
        driver.counters().unwrap().active_clocks
    };
    assert_eq!(clocks(5000) - clocks(1000), 4000);
}

#[test]
fn the_line_rises_when_a_complete_inference_is_not_masked() {
    let mut prepared = Prepared::new(&Architecture::default());
    prepared.request(0, &inputs(1)[0]);
    prepared.poll(COMPLETION_COUNT, 1);
    let level = |prepared: &Prepared| prepared.host.platform().irq().level();
    assert_eq!((prepared.read(ICR), level(&prepared)), (COMPLETE, false), "masked");
    prepared.write(IMR, COMPLETE);
    assert!(level(&prepared), "the mask bit rose over a set bit");
    prepared.write(ICR, ERROR);
    assert_eq!((prepared.read(ICR), level(&prepared)), (COMPLETE, true));
    prepared.write(ICR, COMPLETE);
    assert_eq!((prepared.read(ICR), level(&prepared)), (0, false));
    prepared.request(0, &inputs(1)[0]);
    prepared.host.wait_interrupt().unwrap();
    assert_eq!((prepared.read(ICR), prepared.read(COMPLETION_COUNT)), (COMPLETE, 2));
    assert_eq!(prepared.host.statistics().unwrap().get("fpga_ai_suite.interrupts"), Some(2));
    let expected = prepared.model.infer(&inputs(1)[0]);
    assert_eq!(prepared.output(0), expected);
}

#[test]
fn equal_programs_are_equal_runs() {
    let run = || {
        let architecture = Architecture::default();
        let mut host = host(&architecture);
        let given = inputs(4);
        let given: Vec<&[i8]> = given.iter().map(Vec::as_slice).collect();
        Driver::open(&mut host, &architecture, &small(), memory()).unwrap().infer(&given).unwrap();
        host.statistics().unwrap()
    };
    assert_eq!(run(), run());
}

#[test]
fn what_has_not_begun_is_said_when_nothing_moves() {
    let streaming = Architecture { streaming: true, ..Architecture::default() };
    let mut prepared = Prepared::new(&streaming);
    prepared.write(STREAMING, 0);
    prepared.write(IMR, 3);
    prepared.write(IO_BASE, 0x8800_0000);
    let error = prepared.host.wait_interrupt().unwrap_err().to_string();
    assert!(
        error.contains("1 in the descriptor queue have not begun, and streaming is not active"),
        "{error}"
    );
}
