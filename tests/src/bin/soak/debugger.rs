//! `vp attach`, driven by a script: it has time stand where a layer raises its interrupt, and again where the layer is through, and looks at
//! what that has left. It is killed, or not; the layer is the one without it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::Around;
use crate::layers::Layer;
use crate::process::{self, PATIENCE, text};
use crate::server::ServerPlace;
use crate::tally::Party;

/// Runs a layer on a platform that is debugged.
pub(crate) fn work(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    process::pause(random, 400);
    around.tally.begun(Party::Debugger);
    let name = format!("debugged{}", random.random::<u32>());
    let (layer, kill) = (around.layer(random), process::kill_time_within(random, 200));
    let mut cpu = around.cpu(place, &name)?;
    let mut command = around.client();
    command.args(["attach", &place.address, "--shared", &name]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut input), Some(output), Some(mut errors)) = pipes else { return Err("no pipes".to_owned()) };
    let (mut output, mut said, mut wrong) = (BufReader::new(output), String::new(), String::new());
    let ((played, heard), is_killed) = process::during(&mut child, kill.unwrap_or(PATIENCE), || {
        // One that is killed reads nothing.
        _ = input.write_all(script(layer).as_bytes());
        drop(input);
        // That time stands: before that the layer would run past its breakpoints.
        let stands = output.read_line(&mut said);
        let played = layer.play_in_time(&mut cpu);
        let heard = stands.and_then(|_| output.read_to_string(&mut said));
        (played, heard.and_then(|_| errors.read_to_string(&mut wrong)))
    });
    played.map_err(|why| format!("beside {command:?}: {why}"))?;
    match (is_killed, kill) {
        (true, Some(_)) => around.tally.killed(Party::Debugger),
        (true, None) => return Err(format!("{command:?} does not end: {said}{wrong}")),
        (false, _) => {
            around.tally.compared(Party::Debugger);
            let checked = heard.map_err(text).and_then(|_| check(&said, layer));
            checked.map_err(|why| format!("{command:?}: {why}: {said}{wrong}"))?;
        }
    }
    cpu.close().map_err(text)
}

/// Lines that are typed.
fn script(layer: &Layer) -> String {
    let [first, last] = layer.interrupts();
    let mut script = "stop\nbreak irq once\ncontinue\nregs GLB.S_INTR_STATUS\nunits\n".to_owned();
    if last > first {
        script += &format!("continue until {} ps\n", last.as_ps());
    }
    for sum in layer.sums() {
        script += &format!("mem dbb0 {:#x} {}\n", sum.base, sum.size);
    }
    script + "breaks\nquit\n"
}

/// Fails if time did not stand where it does in process, or the layer was not in memory then.
fn check(said: &str, layer: &Layer) -> Result<(), String> {
    let [first, last] = layer.interrupts();
    let mut stops = vec![
        "stopped at 0 s".to_owned(),
        format!("stopped at {first}: the interrupt line is high (breakpoint 1)"),
    ];
    if last > first {
        stops.push(format!("stopped at {last}: time (breakpoint 2)"));
    }
    let stood: Vec<&str> = said.lines().filter(|line| line.starts_with("stopped at ")).collect();
    if stood != stops {
        return Err(format!("it stopped at {stood:?}, not {stops:?}"));
    }
    if said.lines().next_back() != Some("no breakpoints") {
        return Err("not all was done".to_owned());
    }
    let mut bytes = said.lines().flat_map(dumped);
    layer.check(|sum| Ok(bytes.by_ref().take(sum.size as usize).collect()))
}

/// The bytes that a line of `mem` shows: sixteen, between their address and what of them is text. Layers leave theirs above 0x80000000.
fn dumped(line: &str) -> Vec<u8> {
    let digits = line.starts_with("0x8").then(|| line.get(12..60)).flatten().unwrap_or_default();
    digits.split_whitespace().filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
}
