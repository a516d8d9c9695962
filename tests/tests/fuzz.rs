//! Some cases of each fuzz target: those of its corpus, and others near them. `VP_TEST_EFFORT` multiplies them, and
//! `PROPTEST_RNG_SEED` says which they are; the program `fuzz` runs as many as one likes.
//!
//! Each thread counts what it allocates, because no stream may make a protocol's code hold more than a packet and its answer take.

// The allocator below is the only way to see what is allocated.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use vp_protocols::{native, remote_port, renode, vfio_user};
use vp_tests::effort::cases;
use vp_tests::fuzz::{self, FuzzCounts, TARGETS, Target, case, corpus};
use vp_tests::progress::{Progress, watched};

/// The system's allocator, counting.
struct Counting;

thread_local! {
    /// Bytes that this thread has, and had at most.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(bytes: isize) {
    // A thread that ends has no counter any more.
    _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        count(memory.size() as isize);
        // SAFETY: as the caller's.
        unsafe { System.alloc(memory) }
    }

    unsafe fn alloc_zeroed(&self, memory: Memory) -> *mut u8 {
        count(memory.size() as isize);
        // By the system, for which pages that nobody writes cost nothing.
        // SAFETY: as the caller's.
        unsafe { System.alloc_zeroed(memory) }
    }

    unsafe fn dealloc(&self, at: *mut u8, memory: Memory) {
        count(-(memory.size() as isize));
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes held while `work` runs, beyond those before.
fn most_held(work: impl FnOnce()) -> usize {
    let (before, _) = HELD.get();
    HELD.set((before, before));
    work();
    (HELD.get().1 - before) as usize
}

/// A case that takes no step for so long hangs: far from what a loaded machine makes of it.
const HANGS: Duration = Duration::from_secs(60);

/// A packet that lacks a byte, in a buffer that grows by doubling, while it is moved to one twice as large; or an answer.
const REMOTE_PORT_BOUND: usize = 4 * remote_port::MAX_PACKET;
/// A text for Renode's log, likewise.
const RENODE_BOUND: usize = 4 << 20;
/// A message, likewise.
const VFIO_USER_BOUND: usize = 4 * vfio_user::MAX_MESSAGE;
/// A frame, likewise; and all of a case's stream at once.
const NATIVE_BOUND: usize = 4 * native::DEFAULT_MAX_PAYLOAD as usize;

/// A recording that is read and run again: its platform, and entries.
const INPUTS_BOUND: usize = 64 << 20;
/// Arrays of a file, twice and as files again; deflate packs by a factor of 1032 at most.
const ARRAYS_BOUND: usize = 256 << 20;
/// Twice a hub's platform, itself and as its recording runs again, and the inputs and outputs of both, which are compared.
const HUB_BOUND: usize = 4 * INPUTS_BOUND;
/// A platform, and what its engines write into memory: 64 bytes a nanosecond through the widest port, in the 10 ms that a
/// case's 2000 writes let pass at most.
const REGISTERS_BOUND: usize = 1 << 30;
/// The two ends of a ring have a mapping, which is not counted, counters and descriptors: nothing that a peer could make grow.
const RING_BOUND: usize = 1 << 20;
/// A model's constants and values, which are few: 4 MiB of constants that are made, and as much while they are.
const ONNX_BOUND: usize = 64 << 20;
/// The part of this thread: two other sessions, each with a frame. The server has threads of its own, which are not counted here.
const SESSION_BOUND: usize = 2 * NATIVE_BOUND;

/// First of the seeds: `PROPTEST_RNG_SEED`, as for the other random tests, or 0.
fn first_seed() -> u64 {
    std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

/// Runs the corpus of a target and so many cases near it; `run` takes them one by one.
fn each(name: &str, usual: u32, progress: &Progress, mut run: impl FnMut(&[u8])) {
    let target = Target::named(name).expect("a target");
    let corpus = target.corpus().expect("its corpus");
    assert!(!corpus.is_empty());
    for (number, bytes) in corpus.iter().enumerate() {
        progress.begin(format!("{name}: file {number} of the corpus"));
        run(bytes);
    }
    let first = first_seed();
    for seed in first..first + u64::from(cases(usual)) {
        progress.begin(format!("{name}: seed {seed}"));
        run(&case(seed, target.form, &corpus));
    }
}

/// Runs each case of a target, which is to be survived in so much memory; returns the units that all had.
fn survived(name: &'static str, usual: u32, bound: usize) -> u64 {
    let run = Target::named(name).expect("a target").run;
    watched(HANGS, move |progress| {
        let mut units = 0;
        each(name, usual, progress, |bytes| {
            let most = most_held(|| units += run(bytes));
            assert!(most < bound, "{most} bytes");
        });
        units
    })
}

/// Runs each case of a protocol, whose memory is bounded; returns the counts of all.
fn streams(name: &'static str, usual: u32, bound: usize, feed: fn(&[u8], &mut FuzzCounts)) -> FuzzCounts {
    watched(HANGS, move |progress| {
        let mut seen = FuzzCounts::default();
        each(name, usual, progress, |bytes| {
            let most = most_held(|| feed(bytes, &mut seen));
            assert!(most < bound, "{most} bytes");
        });
        assert!(seen.events > u64::from(cases(usual)) * 4, "sessions get somewhere: {seen:?}");
        seen
    })
}

#[test]
fn the_corpora_are_those_that_are_made() {
    for target in TARGETS {
        for (name, made) in corpus::of(&target).expect("what it is made of") {
            let file = target.folder().join(name);
            let is_as_made = std::fs::read(&file).is_ok_and(|bytes| bytes == made);
            assert!(is_as_made, "{}: cargo run -p vp-tests --bin make-fuzz-corpus", file.display());
        }
    }
}

#[test]
fn no_stream_makes_native_frames_panic_or_take_memory_and_cuts_make_no_difference() {
    let seen = streams("native-frames", 4000, NATIVE_BOUND, fuzz::native_frames::feed);
    assert!(seen.rules.len() >= 5, "many rules are broken: {seen:?}");
}

#[test]
fn no_stream_makes_remote_port_panic_or_take_memory() {
    let seen = streams("remote-port", 12_000, REMOTE_PORT_BOUND, fuzz::remote_port::feed);
    assert_eq!(
        seen.rules.len(),
        remote_port::Rule::OF_PACKETS.len(),
        "all rules are broken: {:?}",
        seen.rules
    );
}

#[test]
fn no_stream_makes_renode_panic_or_take_memory() {
    let seen = streams("renode", 12_000, RENODE_BOUND, fuzz::renode::feed);
    assert_eq!(seen.rules.len(), renode::Rule::OF_MESSAGES.len(), "all rules are broken: {:?}", seen.rules);
}

#[test]
fn no_stream_makes_vfio_user_panic_or_take_memory() {
    let seen = streams("vfio-user", 12_000, VFIO_USER_BOUND, fuzz::vfio_user::feed);
    assert_eq!(
        seen.rules.len(),
        vfio_user::Rule::OF_MESSAGES.len(),
        "all rules are broken: {:?}",
        seen.rules
    );
}

#[test]
fn no_client_makes_a_server_panic_or_hang_or_fail_another_session() {
    let heard = survived("session", 600, SESSION_BOUND);
    assert!(heard > 600 * 50, "sessions get somewhere: {heard} bytes of answers");
}

#[test]
fn no_memory_of_a_ring_makes_either_end_give_what_nobody_wrote() {
    let taken = survived("ring", 4000, RING_BOUND);
    // Those of the corpus have 70 each, and most others are like them for a good part.
    assert!(taken > 4000 * 20, "accesses are taken, and answers: {taken}");
}

#[test]
fn no_file_of_any_format_makes_its_reader_panic() {
    let formats = fuzz::files::FORMATS.len();
    let read = watched(HANGS, |progress| {
        let mut read = BTreeMap::<&str, [u32; 2]>::new();
        each("files", 3000, progress, |bytes| {
            let mut came_to = ("", false);
            let most = most_held(|| came_to = fuzz::files::feed(bytes));
            let (format, is_one) = came_to;
            // A platform takes its part of that.
            assert!(!format.starts_with("inputs") || most < INPUTS_BOUND, "{format}: {most} bytes");
            assert!(!format.starts_with("np") || most < ARRAYS_BOUND, "{format}: {most} bytes");
            read.entry(format).or_default()[usize::from(is_one)] += 1;
        });
        read
    });
    assert_eq!(read.len(), formats);
    for (format, [none, some]) in read {
        assert!(none > 0 && some > 0, "{format}: {none} are none, {some} are one");
    }
}

#[test]
fn no_writes_make_a_device_panic_or_time_stand_still() {
    assert!(survived("registers", 60, REGISTERS_BOUND) > 1000);
}

#[test]
fn no_inputs_make_a_hub_panic_and_all_run_again_to_the_same_event_hash() {
    assert!(survived("hub", 300, HUB_BOUND) > 3000);
}

#[test]
fn no_model_makes_its_reader_panic_or_take_memory() {
    assert!(survived("onnx", 6000, ONNX_BOUND) > 100);
}
