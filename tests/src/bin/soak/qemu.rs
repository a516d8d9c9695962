//! QEMU with the library. Its guest's CPU is stopped, and this program is in its place by QEMU's protocol for tests (`-qtest`): it
//! reaches the guest's memory and the device's registers, as the machine has them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::Around;
use crate::layers::{Bus, Cpu};
use crate::process::{self, LOOK, PATIENCE};
use crate::server::ServerPlace;
use crate::tally::Party;

const QEMU: &str = "qemu-system-aarch64";
/// Address at which the library puts the first device on `virt`.
const DEVICE: u64 = 0x0b00_0000;
/// Bytes of memory that one command carries.
const PIECE: usize = 2048;

/// Files that runs of QEMU need.
pub(crate) struct Qemu {
    library: PathBuf,
    folder: PathBuf,
}

impl Qemu {
    /// Finds QEMU and the library; fails with the reason if there is none.
    pub(crate) fn find(folder: PathBuf) -> Result<Qemu, String> {
        let found = Command::new(QEMU).arg("--version").stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            return Err(format!("no QEMU ({QEMU}) here"));
        }
        let library = process::beside("libvp_qemu.so", "vp-qemu")?;
        Ok(Qemu { library, folder })
    }

    /// Runs a layer in a guest of a server, and compares, or kills QEMU.
    pub(crate) fn work(
        &self,
        place: &ServerPlace,
        random: &mut SmallRng,
        around: &Around<'_>,
    ) -> Result<(), String> {
        around.tally.begun(Party::Qemu);
        let layer = around.layer(random);
        let kill = process::kill_time(random).map(|after| Instant::now() + after);
        let share = if random.random_bool(0.5) { "on" } else { "off" };
        let number: u32 = random.random();
        let [socket, said] = ["qtest", "log"].map(|end| self.folder.join(format!("qemu{number}.{end}")));
        let mut command = Command::new(QEMU);
        // The layers' surfaces lie from 0x80000000 on; RAM begins at 0x40000000.
        command.args(["-S", "-M", "virt", "-cpu", "cortex-a57", "-m", "1100", "-nodefaults"]);
        command.args(["-display", "none", "-serial", "none", "-monitor", "none", "-qtest-log", "none"]);
        command.arg("-qtest").arg(format!("unix:{},server=on,wait=off", socket.display()));
        let (library, address) = (self.library.display(), &place.address);
        command.arg("-plugin").arg(format!("{library},connect={address},share={share}"));
        let log = File::create(&said).map_err(|error| error.to_string())?;
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let child = started.map_err(|error| format!("{command:?}: {error}"))?;
        let mut running = Running { child, stream: None, kill, is_killed: false };
        let played = running.connect(&socket).and_then(|()| {
            let mut cpu = Cpu(&mut running);
            layer.play(&mut cpu)
        });
        let is_killed = running.is_killed;
        drop(running);
        let told = fs::read_to_string(&said).unwrap_or_default();
        // There may be no socket yet.
        _ = [socket, said].map(fs::remove_file);
        match played {
            _ if is_killed => around.tally.killed(Party::Qemu),
            Ok(_) => around.tally.compared(Party::Qemu),
            Err(why) => return Err(format!("{command:?}: {why}\n{told}")),
        }
        Ok(())
    }
}

struct Running {
    child: Child,
    stream: Option<BufReader<UnixStream>>,
    kill: Option<Instant>,
    is_killed: bool,
}

impl Running {
    fn connect(&mut self, socket: &PathBuf) -> Result<(), String> {
        let began = Instant::now();
        let stream = loop {
            self.kill_if_due();
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) => {
                    let ended = self.child.try_wait().map_err(|error| error.to_string())?;
                    if ended.is_some() || began.elapsed() > PATIENCE {
                        return Err(format!("{}: {error}; {ended:?}", socket.display()));
                    }
                    std::thread::sleep(LOOK);
                }
            }
        };
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        self.stream = Some(BufReader::new(stream));
        Ok(())
    }

    fn kill_if_due(&mut self) {
        if self.kill.take_if(|when| Instant::now() >= *when).is_some() {
            process::end(&mut self.child);
            self.is_killed = true;
        }
    }

    /// Gives what stands behind `OK`. What is to be killed is killed while it does what it was asked for.
    fn ask(&mut self, command: &str) -> Result<String, String> {
        let stream = self.stream.as_mut().ok_or("no stream")?;
        writeln!(stream.get_mut(), "{command}").map_err(|error| error.to_string())?;
        self.kill_if_due();
        let stream = self.stream.as_mut().ok_or("no stream")?;
        let mut line = String::new();
        match stream.read_line(&mut line) {
            Ok(1..) => {}
            Ok(0) => return Err("QEMU has gone".to_owned()),
            Err(error) => return Err(format!("QEMU says nothing: {error}")),
        }
        let answer = line.trim_end().strip_prefix("OK").map(|answer| answer.trim_start().to_owned());
        answer.ok_or_else(|| format!("QEMU says {line:?} to {:?}", command.get(..40).unwrap_or(command)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.trim_start_matches("0x");
    u64::from_str_radix(digits, 16).map_err(|error| format!("{text:?}: {error}"))
}

impl Bus for &mut Running {
    fn read(&mut self, address: u32) -> Result<u32, String> {
        let value = number(&self.ask(&format!("readl {:#x}", DEVICE + u64::from(address)))?)?;
        u32::try_from(value).map_err(|error| error.to_string())
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), String> {
        self.ask(&format!("writel {:#x} {value:#x}", DEVICE + u64::from(address))).map(drop)
    }

    fn load(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        for (at, piece) in (address..).step_by(PIECE).zip(bytes.chunks(PIECE)) {
            let mut command = format!("write {at:#x} {:#x} 0x", piece.len());
            for byte in piece {
                // Nothing can go wrong in writing to a string.
                _ = write!(command, "{byte:02x}");
            }
            self.ask(&command)?;
        }
        Ok(())
    }

    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        for (at, piece) in (address..).step_by(PIECE).zip(bytes.chunks_mut(PIECE)) {
            let answer = self.ask(&format!("read {at:#x} {:#x}", piece.len()))?;
            let digits = answer.trim_start_matches("0x").as_bytes();
            if digits.len() != 2 * piece.len() {
                return Err(format!("{} digits of {} bytes", digits.len(), piece.len()));
            }
            for (byte, digits) in piece.iter_mut().zip(digits.chunks(2)) {
                let digits = str::from_utf8(digits).map_err(|error| error.to_string())?;
                *byte = u8::from_str_radix(digits, 16).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}
