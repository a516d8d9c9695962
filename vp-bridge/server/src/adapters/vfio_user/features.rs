//! Features of the device: its state for another server, and the log of what it writes.

use bytes::{Buf as _, Bytes};
use vp_protocols::vfio_user::{Errno, Feature, MAX_DATA, Reply, Token};

use super::VfioUser;
use super::memory::PAGE;

/// `VFIO_MIGRATION_STOP_COPY`: the device can be copied while it is stopped.
const STOP_COPY: u64 = 1;
/// Ranges that a client names at most.
const MOST_RANGES: u32 = 4096;

impl VfioUser {
    pub(super) fn feature(&mut self, token: Token, feature: Feature) {
        let methods = match feature.number() {
            Feature::MIGRATION | Feature::LOGGING_REPORT => Feature::GET,
            Feature::DEVICE_STATE => Feature::GET | Feature::SET,
            Feature::LOGGING_START | Feature::LOGGING_STOP => Feature::SET,
            _ => return self.connection.fail(token, Errno::ENOTTY),
        };
        let method = feature.flags & !0xffff;
        if method & !(methods | Feature::PROBE) != 0 {
            return self.connection.fail(token, Errno::EINVAL);
        }
        let data = match method {
            Feature::GET => self.get(&feature),
            Feature::SET if (feature.most as usize) < 8 + feature.data.len() => Err(Errno::EINVAL),
            Feature::SET if feature.number() == Feature::DEVICE_STATE => {
                return self.set_state(token, feature);
            }
            Feature::SET => self.set(&feature),
            _ if method & Feature::PROBE != 0 => Ok(feature.data.clone()),
            _ => Err(Errno::EINVAL),
        };
        match data {
            Ok(data) if 8 + data.len() <= feature.most as usize => {
                self.connection.reply(token, &Reply::Feature { flags: feature.flags, data });
            }
            Ok(_) => self.connection.fail(token, Errno::EINVAL),
            Err(error) => self.connection.fail(token, error),
        }
    }

    fn get(&mut self, feature: &Feature) -> Result<Bytes, Errno> {
        Ok(Bytes::from(match feature.number() {
            Feature::MIGRATION => STOP_COPY.to_ne_bytes().to_vec(),
            Feature::DEVICE_STATE => self.migration.data(),
            _ => self.report(feature)?,
        }))
    }

    fn set(&mut self, feature: &Feature) -> Result<Bytes, Errno> {
        if feature.number() == Feature::LOGGING_STOP {
            self.written.set(false);
            return Ok(feature.data.clone());
        }
        let mut fields = feature.data.clone();
        if fields.len() < 16 || self.written.is_on() {
            return Err(Errno::EINVAL);
        }
        let (granule, ranges, reserved) = (fields.get_u64_ne(), fields.get_u32_ne(), fields.get_u32_ne());
        let is_right = granule.is_power_of_two() && ranges <= MOST_RANGES;
        if !is_right || fields.len() != 16 * ranges as usize {
            return Err(Errno::EINVAL);
        }
        while fields.has_remaining() {
            let (start, length) = (fields.get_u64_ne(), fields.get_u64_ne());
            if length == 0 || start.checked_add(length).is_none() {
                return Err(Errno::EINVAL);
            }
        }
        // Whatever was wanted, all is logged, in pages of this size.
        self.written.set(true);
        let head = [&PAGE.to_ne_bytes()[..], &ranges.to_ne_bytes(), &reserved.to_ne_bytes()].concat();
        Ok([&head, &feature.data[16..]].concat().into())
    }

    /// The pages that the device has written since the last report.
    fn report(&self, feature: &Feature) -> Result<Vec<u8>, Errno> {
        let mut fields = feature.data.clone();
        if fields.len() != 24 || !self.written.is_on() {
            return Err(Errno::EINVAL);
        }
        let (start, length, granule) = (fields.get_u64_ne(), fields.get_u64_ne(), fields.get_u64_ne());
        let end = start.checked_add(length).filter(|_| length > 0).ok_or(Errno::EINVAL)?;
        let is_page = start.is_multiple_of(PAGE) && granule.is_power_of_two();
        // The bitmap is a part of one reply; one that has no room stays in the log.
        let room = MAX_DATA.min((feature.most as usize).saturating_sub(32));
        if !is_page || length.div_ceil(granule).div_ceil(64) > room as u64 / 8 {
            return Err(Errno::EINVAL);
        }
        let bitmap = self.written.take(&(start..end), granule);
        let bitmap = bitmap.into_iter().flat_map(u64::to_ne_bytes);
        Ok(feature.data.iter().copied().chain(bitmap).collect())
    }
}
