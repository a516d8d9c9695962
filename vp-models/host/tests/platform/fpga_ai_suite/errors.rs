//! Errors, and the state of the IP afterwards.

use super::*;
use proptest::prelude::*;
use vp_models::memory::SramConfig;

/// Checks that the IP still works.
fn works(prepared: &mut Prepared) {
    prepared.write(IP_RESET, 1);
    prepared.request(0, &inputs(3)[2]);
    prepared.poll(COMPLETION_COUNT, 1);
    let expected = prepared.model.infer(&inputs(3)[2]);
    assert_eq!(prepared.output(0), expected);
    assert_eq!(prepared.read(ICR), COMPLETE);
}

#[test]
fn another_architecture_is_refused_by_its_hash() {
    let (ours, other) =
        (Architecture::default(), Architecture { memory_word: 16, ..Architecture::default() });
    let mut host = host(&other);
    let error = Driver::open(&mut host, &ours, &small(), memory()).err().unwrap().to_string();
    assert_eq!(
        error,
        format!("the IP's architecture is {}, and the model is for {}", other.hash(), ours.hash())
    );
}

#[test]
fn addresses_that_are_no_memory_words_raise_the_error_bit() {
    for register in [CONFIG_BASE, INTERMEDIATE_BASE, IO_BASE] {
        let mut prepared = Prepared::new(&Architecture::default());
        prepared.write(register, 0x8000_0008);
        if register != IO_BASE {
            prepared.write(IO_BASE, 0x8800_0000);
        }
        assert_eq!(prepared.read(ICR), ERROR, "{register:#x}");
        assert_eq!(prepared.read(COMPLETION_COUNT), 0);
        let told = prepared.told();
        assert!(told.contains("= 0x80000008 is no multiple of 32 bytes"), "{told}");
        prepared.write(INTERMEDIATE_BASE, 0);
        works(&mut prepared);
    }
}

#[test]
fn a_queue_that_overflows_says_so_until_reset() {
    let architecture = Architecture { queue_depth: 2, jobs_in_flight: 1, ..Architecture::default() };
    let mut prepared = Prepared::new(&architecture);
    let mut shown = Vec::new();
    for _ in 0..5 {
        prepared.request(0, &inputs(1)[0]);
        shown.push(prepared.read(DIAGNOSTICS));
    }
    // The first is begun; with one place left the queue is almost full.
    assert_eq!(shown, [0b00, 0b10, 0b10, 0b11, 0b11]);
    prepared.poll(COMPLETION_COUNT, 3);
    assert_eq!((prepared.read(ICR), prepared.read(DIAGNOSTICS)), (ERROR | COMPLETE, 1));
    let told = prepared.told();
    assert!(told.contains("the queue of 2 descriptors is full"), "{told}");
    works(&mut prepared);
    assert_eq!(prepared.read(DIAGNOSTICS), 0);
}

#[test]
fn an_unlicensed_ip_stops_at_its_limit() {
    let architecture = Architecture { licensed: false, inference_limit: 2, ..Architecture::default() };
    let (mut host, model) = (host(&architecture), small());
    let given = inputs(3);
    let given: Vec<&[i8]> = given.iter().map(Vec::as_slice).collect();
    let mut driver = Driver::open(&mut host, &architecture, &model, memory()).unwrap();
    driver.set_in_flight(1);
    assert_eq!(driver.infer(&given[..2]).unwrap().len(), 2);
    let error = driver.infer(&given[2..]).unwrap_err().to_string();
    assert!(error.contains("it is not licensed and has done what it does"), "{error}");
    assert_eq!((host.read(0x260), host.read(DIAGNOSTICS)), (Ok(0), Ok(0b100)));
    // A reset of the IP does not make more of them.
    let error =
        Driver::open(&mut host, &architecture, &model, memory()).unwrap().infer(&given[..1]).unwrap_err();
    assert!(error.to_string().contains("has taken 2 requests"), "{error}");
}

#[test]
fn a_configuration_that_is_none_ends_the_job_with_an_error() {
    for (words, why) in [
        (0u32, "the end is missing"),
        (5, "the end is missing"),
        (u32::MAX, "4294967297 words are no configuration"),
        (1000, "no instruction 0x0"),
    ] {
        let mut prepared = Prepared::new(&Architecture::default());
        prepared.write(CONFIG_BASE, if words == 1000 { 0x8900_0000 } else { prepared.layout.config_base });
        prepared.write(CONFIG_WORDS, words);
        prepared.write(IO_BASE, 0x8800_0000);
        prepared.poll(ICR, ERROR);
        assert_eq!(prepared.read(COMPLETION_COUNT), 0);
        let told = prepared.told();
        assert!(told.contains("job 0 is refused") && told.contains(why), "{words}: {told}");
        // The next one is not held up.
        prepared.write(ICR, 3);
        prepared.request(0, &inputs(1)[0]);
        prepared.poll(COMPLETION_COUNT, 1);
        let expected = prepared.model.infer(&inputs(1)[0]);
        assert_eq!(prepared.output(0), expected);
    }
}

#[test]
fn a_reset_does_not_wait_for_a_long_layer() {
    let architecture = Architecture::default();
    let mut prepared = Prepared::of(&architecture, taking(Some(50_000_000)));
    prepared.request(0, &inputs(1)[0]);
    (0..500).for_each(|_| _ = prepared.read(0));
    prepared.write(IP_RESET, 1);
    let mut driver = Driver::open(&mut prepared.host, &architecture, &small(), memory()).unwrap();
    let inferred = driver.infer(&[&inputs(1)[0]]).unwrap();
    assert_eq!(inferred[0].output, small().infer(&inputs(1)[0]));
    let now = prepared.host.now().unwrap();
    assert!(now < vp_core::Time::us(100), "{now}");
}

/// Address at which the platform's memory ends.
const END: u32 = 0x9000_0000;

/// A job with a base there ends with the error bit and in these words, and the next one is as if it had not been.
fn ends_with(architecture: &Architecture, (register, base): (u32, u32), words: &str) {
    let mut prepared = Prepared::of(architecture, halves());
    let input = &inputs(1)[0];
    let of = |wrong: u32, right: u32| if register == wrong { base } else { right };
    let (config_base, io_base) =
        (of(CONFIG_BASE, prepared.layout.config_base), of(IO_BASE, prepared.layout.io_bases[0]));
    let bytes: Vec<u8> = input.iter().map(|value| *value as u8).collect();
    let config = prepared.layout.config_bytes();
    for (at, bytes) in [(config_base, config), (io_base, bytes)] {
        // What memory holds of it.
        let held = END.saturating_sub(at) as usize;
        if at >= memory().start as u32 {
            prepared.host.load(Memory::Primary, at.into(), &bytes[..bytes.len().min(held)]).unwrap();
        }
    }
    prepared.write(INTERMEDIATE_BASE, of(INTERMEDIATE_BASE, prepared.layout.intermediate_base));
    prepared.write(CONFIG_BASE, config_base);
    prepared.write(CONFIG_WORDS, prepared.layout.words.len() as u32 - 2);
    prepared.write(IO_BASE, io_base);
    prepared.poll(ICR, ERROR);
    assert_eq!(prepared.read(COMPLETION_COUNT), 0);
    let told = prepared.told();
    assert!(told.contains(&format!("job 0 is refused: {words}: no access to 0x")), "{told}");
    assert_eq!(told.matches("job 0").count(), 1, "{told}");
    // Not reset: the slot is free, and no error is left for the next one.
    prepared.write(ICR, ERROR);
    prepared.write(INTERMEDIATE_BASE, prepared.layout.intermediate_base);
    prepared.request(0, input);
    prepared.poll(COMPLETION_COUNT, 1);
    let expected = prepared.model.infer(input);
    assert_eq!((prepared.output(0), prepared.read(ICR)), (expected, COMPLETE));
}

#[test]
fn a_part_of_a_job_that_is_in_no_memory_ends_it_with_the_error_bit() {
    let plain = Architecture::default();
    ends_with(&plain, (CONFIG_BASE, 0x1000), "configuration");
    let layout = Layout::new(&plain, &halves(), 1, memory()).unwrap();
    let config = layout.config_bytes().len() as u32;
    ends_with(&plain, (CONFIG_BASE, END - config.next_multiple_of(32)), "filters");
    ends_with(&plain, (IO_BASE, 0x2000), "input");
    ends_with(&plain, (IO_BASE, END - 32), "input");
    // The input is the last that memory holds.
    ends_with(&plain, (IO_BASE, END - 64), "output");
    let small = Architecture { feature_buffer: 16, ..plain };
    ends_with(&small, (INTERMEDIATE_BASE, 0x1000), "intermediate buffer");
}

#[test]
fn memories_with_a_time_of_their_own_answer_with_errors_too() {
    let mut description = description(&Architecture::default());
    description.dbb0.model.sram = Some(SramConfig::default());
    let mut host = LocalHost::new(Platform::build(&description).unwrap());
    let model = small();
    let layout =
        Driver::open(&mut host, &Architecture::default(), &model, memory()).unwrap().layout().clone();
    host.write(CONFIG_BASE, layout.config_base).unwrap();
    host.write(CONFIG_WORDS, layout.words.len() as u32 - 2).unwrap();
    host.write(IO_BASE, 0x2000).unwrap();
    host.wait_interrupt().unwrap();
    assert_eq!((host.read(ICR), host.read(COMPLETION_COUNT)), (Ok(ERROR), Ok(0)));
}

/// Two to the 34 products: computed at once, half a minute.
#[test]
fn inferences_follow_a_reset_in_the_middle_of_a_large_layer() {
    let mut graph = Graph::new(Shape { height: 256, width: 256, channels: 1 }, 64 * 128 * 128).unwrap();
    let window = Window { size: [128; 2], stride: [1; 2], before: [0; 2], after: [0; 2] };
    let converter = Converter { offset: 0, scale: 1, shift: 0 };
    let sums = Sums { kernels: 64, weights: 0, bias: None, relu: false, converter };
    graph.add(Tensor::Input, Operation::Convolution { window, sums }, None).unwrap();
    let large =
        Model { name: "large".into(), graph: graph.whole().unwrap(), filters: vec![1; 64 * 128 * 128] };
    let architecture = Architecture::default();
    let mut prepared = Prepared::of(&architecture, large);
    let io_base = prepared.layout.io_bases[0];
    prepared.request_at(io_base, &[1; 256 * 256]);
    // It has been read, and is being computed.
    let input_words = 256 * 256 / 32;
    prepared.poll(0x264, input_words);
    (0..1000).for_each(|_| _ = prepared.read(0));
    prepared.write(IP_RESET, 1);
    let mut driver = Driver::open(&mut prepared.host, &architecture, &small(), memory()).unwrap();
    let inferred = driver.infer(&[&inputs(1)[0]]).unwrap();
    assert_eq!(inferred[0].output, small().infer(&inputs(1)[0]));
}

#[test]
fn a_reset_in_the_middle_leaves_nothing_behind() {
    let mut at_work = 0;
    for after in (0..400).step_by(25) {
        let mut prepared = Prepared::new(&Architecture::default());
        prepared.write(IMR, 3);
        for place in 0..4 {
            prepared.request(place, &inputs(4)[place]);
        }
        (0..after).for_each(|_| _ = prepared.read(0));
        at_work += u32::from(prepared.read(COMPLETION_COUNT) < 4);
        prepared.write(IP_RESET, 0x8000_0000);
        for address in
            [ICR, IMR, CONFIG_BASE, COMPLETION_COUNT, 0x240, 0x248, 0x264, 0x26c, 0x274, DIAGNOSTICS]
        {
            assert_eq!(prepared.read(address), 0, "{address:#x}");
        }
        assert!(!prepared.host.platform().irq().level());
        (0..2000).for_each(|_| _ = prepared.read(0));
        assert_eq!(
            [ICR, COMPLETION_COUNT, 0x240].map(|address| prepared.read(address)),
            [0; 3],
            "after {after}"
        );
        works(&mut prepared);
    }
    assert!(at_work > 3, "resets came too late");
}

#[test]
fn a_model_update_is_for_a_build_without_external_memory() {
    let mut prepared = Prepared::new(&Architecture::default());
    prepared.write(0x380, 0);
    assert_eq!(prepared.read(ICR), ERROR);
    assert!(prepared.told().contains("the model of this IP is in memory"));
    let architecture = Architecture { ddr_free: true, streaming: true, ..Architecture::default() };
    let mut prepared = Prepared::new(&architecture);
    prepared.write(0x380, 4096);
    assert_eq!(prepared.read(ICR), ERROR);
    assert!(prepared.told().contains("there is no such word"));
}

#[test]
fn streaming_is_for_a_build_with_a_stream() {
    let mut prepared = Prepared::new(&Architecture::default());
    prepared.write(STREAMING, 1);
    assert_eq!(prepared.read(STREAMING), 0);
    assert!(prepared.told().contains("the IP is built without streaming"));
    assert!(prepared.host.stream(&[1]).unwrap_err().to_string().contains("no input stream"));
}

/// Change that may be made to a word of a configuration.
#[derive(Clone, Copy, Debug)]
enum Change {
    Data(u32),
    Word(u64),
    Twice,
    Gone,
}

fn change() -> impl Strategy<Value = Change> {
    let data = prop_oneof![
        0u32..9,
        any::<u32>(),
        prop::sample::select(vec![
            63,
            255,
            256,
            8192,
            8193,
            0x1_0001,
            0x2000_2000,
            1 << 24,
            1 << 28,
            u32::MAX
        ]),
    ];
    prop_oneof![
        6 => data.prop_map(Change::Data),
        1 => any::<u64>().prop_map(Change::Word),
        1 => Just(Change::Twice),
        1 => Just(Change::Gone),
    ]
}

/// Bases at all places, and registers of all kinds.
fn write() -> impl Strategy<Value = (u32, u32)> {
    let address = prop_oneof![
        4 => prop::sample::select(vec![0x204u32, 0x210, 0x214, 0x218, 0x220, 0x22c, 0x250, 0x380]),
        1 => (0u32..512).prop_map(|word| 4 * word),
    ];
    let value = prop_oneof![
        any::<u32>(),
        0u32..200,
        Just(0x8000_0000),
        (0u32..0x1000).prop_map(|at| 0x8000_0000 + 32 * at),
        Just(0xffff_ffe0),
    ];
    (address, value)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn whatever_is_written_the_ip_works_afterwards(
        writes in prop::collection::vec(write(), 1..60), streaming in any::<bool>(), pause in 0u32..50,
    ) {
        let mut prepared = Prepared::new(&Architecture { streaming, ..Architecture::default() });
        for (at, (address, value)) in (0u32..).zip(writes) {
            prepared.write(address, value);
            if at % 7 == 0 {
                (0..pause).for_each(|_| _ = prepared.read(ICR));
            }
        }
        prepared.write(IP_RESET, 1);
        prepared.write(STREAMING, u32::from(streaming));
        let mut host = prepared.host;
        let architecture = Architecture { streaming, ..Architecture::default() };
        let model = small();
        let given = inputs(2);
        let given: Vec<&[i8]> = given.iter().map(Vec::as_slice).collect();
        let mut driver = Driver::open(&mut host, &architecture, &model, memory()).unwrap();
        let inferred = driver.infer(&given).unwrap();
        prop_assert!(inferred.iter().zip(&given).all(|(inference, input)| inference.output == model.infer(input)));
    }

    #[test]
    fn whatever_a_configuration_says_the_job_ends_and_the_ip_works_afterwards(
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..4), streaming in any::<bool>(),
    ) {
        let architecture = Architecture { streaming, ..Architecture::default() };
        let mut prepared = Prepared::of(&architecture, halves());
        let mut words = prepared.layout.words.clone();
        for (at, change) in changes {
            let at = at.index(words.len());
            match change {
                Change::Data(data) => words[at] = words[at] & 0xffff_ffff | u64::from(data) << 32,
                Change::Word(word) => words[at] = word,
                Change::Twice => words.insert(at, words[at]),
                Change::Gone => _ = words.remove(at),
            }
            if words.is_empty() {
                words.push(0);
            }
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (config, io) = (0x8800_0000, 0x8a00_0000);
        prepared.host.load(Memory::Primary, config, &bytes).unwrap();
        prepared.write(CONFIG_BASE, config as u32);
        prepared.write(CONFIG_WORDS, (words.len() as u32).wrapping_sub(2));
        prepared.write(IO_BASE, io);
        if streaming {
            prepared.host.stream(&[1; 1 << 12]).unwrap();
        }
        // It may be a large one: then it is enough that it can be given up.
        _ = (0..2000).find(|_| prepared.read(ICR) != 0);
        prepared.write(IP_RESET, 1);
        let model = small();
        let input = &inputs(1)[0];
        let mut driver = Driver::open(&mut prepared.host, &architecture, &model, memory()).unwrap();
        prop_assert_eq!(&driver.infer(&[input]).unwrap()[0].output, &model.infer(input));
    }
}
