//! Interrupts of the function: which eventfd is signalled, and when.
//!
//! INTA# is a level: once signalled it is masked until the client unmasks it, and is then signalled again if the line is still high.
//! MSI and MSI-X are messages: one when the line rises, and one when a register has been written and the line is still high, so that a
//! driver that serves one of two sources hears of the other.

use super::function::Function;

/// Types of interrupts: `VFIO_PCI_INTX_IRQ_INDEX` and what follows, <linux/vfio.h>.
pub(super) const INTX: u32 = 0;
pub(super) const MSI: u32 = 1;
pub(super) const MSIX: u32 = 2;
/// Errors of a function of PCI Express, which this one is not.
const ERRORS: u32 = 3;
/// Types that there are; the device asks for nothing, which is the last one.
pub(super) const TYPES: u32 = 5;
/// Number of the eventfd by which INTA# is unmasked, behind those of the types.
pub(super) const UNMASK: u32 = 3;

/// The line, and what the client has set up for it.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    level: bool,
    is_masked: bool,
    /// True for types that have an eventfd.
    has_eventfd: [bool; 3],
}

impl Interrupts {
    /// Number of interrupts of a type; `None`: there is no such type.
    pub(super) fn count(index: u32) -> Option<u32> {
        (index < TYPES && index != ERRORS).then_some(u32::from(index <= MSIX))
    }

    /// The line has a level. Gives the eventfd to be signalled.
    pub(super) fn set_level(&mut self, level: bool, function: &Function) -> Option<u32> {
        let rises = level && !self.level;
        self.level = level;
        if rises { self.due(function) } else { None }
    }

    /// A type has an eventfd, or has none any more.
    pub(super) fn set_eventfd(&mut self, index: u32, has_one: bool, function: &Function) -> Option<u32> {
        let has_eventfd = self.has_eventfd.get_mut(index as usize)?;
        *has_eventfd = has_one;
        if index == INTX {
            self.is_masked = false;
        }
        if has_one { self.due(function) } else { None }
    }

    /// INTA# is masked or unmasked, or its enable bit was written.
    pub(super) fn set_mask(&mut self, is_masked: bool, function: &Function) -> Option<u32> {
        self.is_masked = is_masked;
        self.pin_due(function)
    }

    /// The configuration was written.
    pub(super) fn configured(&mut self, function: &Function) -> Option<u32> {
        self.pin_due(function)
    }

    /// A register was written.
    pub(super) fn written(&self) -> Option<u32> {
        self.message().filter(|_| self.level)
    }

    /// The type of messages that is in use.
    fn message(&self) -> Option<u32> {
        [MSIX, MSI].into_iter().find(|index| self.has_eventfd[*index as usize])
    }

    fn due(&mut self, function: &Function) -> Option<u32> {
        if self.level { self.message().or_else(|| self.pin_due(function)) } else { None }
    }

    fn pin_due(&mut self, function: &Function) -> Option<u32> {
        let is_due = self.level
            && !self.is_masked
            && self.has_eventfd[INTX as usize]
            && self.message().is_none()
            && function.has_pin();
        self.is_masked |= is_due;
        is_due.then_some(INTX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_signalled_again_when_it_is_unmasked_and_still_high() {
        let function = Function::new(0x1000);
        let mut interrupts = Interrupts::default();
        assert_eq!(interrupts.set_level(true, &function), None, "nobody listens");
        assert_eq!(interrupts.set_eventfd(INTX, true, &function), Some(INTX));
        assert_eq!(interrupts.set_level(false, &function), None);
        assert_eq!(interrupts.set_level(true, &function), None, "masked");
        assert_eq!(interrupts.set_mask(false, &function), Some(INTX));
        interrupts.set_level(false, &function);
        assert_eq!(interrupts.set_mask(false, &function), None);
        assert_eq!(interrupts.set_level(true, &function), Some(INTX));
    }

    #[test]
    fn a_pin_that_is_disabled_is_signalled_when_it_is_enabled() {
        let mut function = Function::new(0x1000);
        let mut interrupts = Interrupts::default();
        interrupts.set_eventfd(INTX, true, &function);
        assert!(function.write(4, &[0, 4]));
        assert_eq!(interrupts.set_level(true, &function), None);
        assert!(function.write(4, &[0, 0]));
        assert_eq!(interrupts.configured(&function), Some(INTX));
    }

    #[test]
    fn messages_come_at_the_rise_and_after_a_write_that_leaves_the_line_high() {
        let function = Function::new(0x1000);
        for index in [MSI, MSIX] {
            let mut interrupts = Interrupts::default();
            interrupts.set_eventfd(INTX, true, &function);
            interrupts.set_eventfd(index, true, &function);
            assert_eq!(interrupts.written(), None);
            assert_eq!(interrupts.set_level(true, &function), Some(index));
            assert_eq!(interrupts.written(), Some(index));
            assert_eq!(interrupts.set_mask(false, &function), None, "not by the pin");
            interrupts.set_level(false, &function);
            assert_eq!(interrupts.written(), None);
        }
    }
}
