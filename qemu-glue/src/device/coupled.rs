//! A device whose time is the guest's, under `-icount`: accesses cost guest time what they cost the platform, and the guest
//! is interrupted where the platform next has something to do.

use super::Device;
use crate::qemu::Qemu;
use crate::qemu::time::GuestClock;
use crate::report::say;
use crate::session::{AccessError, Timed};

impl Device {
    pub(super) fn read_in_time(
        &self,
        qemu: &Qemu,
        clock: &GuestClock,
        offset: u64,
    ) -> Result<u64, AccessError> {
        let now = clock.now();
        let read = qemu.without_big_lock(|| self.session.read_at(offset, now));
        self.pass(clock, now, read).map(|read| u64::from(read.value))
    }

    pub(super) fn write_in_time(
        &self,
        qemu: &Qemu,
        clock: &GuestClock,
        offset: u64,
        value: u32,
    ) -> Result<(), AccessError> {
        let now = clock.now();
        let written = qemu.without_big_lock(|| self.session.write_at(offset, value, now));
        self.pass(clock, now, written).map(|_| ())
    }

    /// Brings the guest to where the access has brought the platform.
    fn pass(
        &self,
        clock: &GuestClock,
        now: u64,
        access: Result<Timed, AccessError>,
    ) -> Result<Timed, AccessError> {
        self.port.settle();
        match access {
            Ok(timed) => {
                clock.spend(timed.done.saturating_sub(now));
                clock.set_alarm(timed.next);
            }
            // If there is a platform, it will say.
            Err(_) => clock.set_alarm(Some(now)),
        }
        access
    }

    /// The platform does what is due by now. With the big lock all the while: the guest stands, and other alarms of its time
    /// have to wait. The lock cannot be released meanwhile: who stops the machine keeps it and waits for the callbacks of timers
    /// to return (qemu_clock_enable of util/qemu-timer.c), and this one would wait for the lock. How long the server may take is
    /// for the session to limit.
    pub(super) fn keep_up(&self, clock: &GuestClock) {
        let next = self.session.step(clock.now());
        self.port.settle();
        clock.set_alarm(next.unwrap_or(None));
    }

    /// Says so if runs will differ.
    pub(super) fn warn_of_host_time(&self) {
        if let Some(option) = self.clock.as_ref().and_then(GuestClock::host_time) {
            say(format_args!(
                "warning: -icount {option} makes the guest's time depend on the host's: runs differ; with \
                 shift=N,sleep=off they do not"
            ));
        }
    }
}
