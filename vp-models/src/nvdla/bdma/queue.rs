//! BDMA's command queue, and the groups that launches make of it. Plain data: no time, no kernel.
//!
//! Commands wait in one queue. A launch makes one group of all queued commands that are in no group yet; groups
//! run in the order of their launches. RTL: `NV_NVDLA_BDMA_csb`.

use std::collections::VecDeque;

/// Places of the queue: `STATUS.FREE_SLOT` when nothing waits.
pub(super) const SLOTS: usize = 20;

/// Item that the loading half takes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NextItem<T> {
    /// Nothing if the group was launched without any.
    pub(super) command: Option<T>,
    pub(super) group: usize,
    /// The group ends with it.
    pub(super) last: bool,
}

/// State that a launch found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launched {
    /// Number of commands in the group.
    pub(super) commands: usize,
    /// A group of that number was still running, or waiting to run.
    pub(super) was_busy: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Queue<T> {
    waiting: VecDeque<T>,
    /// The last ones of these, which are in no group yet.
    gathered: usize,
    /// Groups that are launched and not loaded: number, and commands left.
    launched: VecDeque<(usize, usize)>,
    /// Number of groups of each number that are launched and not done.
    busy: [usize; 2],
}

impl<T> Queue<T> {
    pub(super) fn new() -> Queue<T> {
        Queue { waiting: VecDeque::new(), gathered: 0, launched: VecDeque::new(), busy: [0; 2] }
    }

    pub(super) fn free(&self) -> usize {
        SLOTS - self.waiting.len()
    }

    /// Queues a command; false, and it is lost, if there is no place.
    pub(super) fn push(&mut self, command: T) -> bool {
        if self.free() == 0 {
            return false;
        }
        self.waiting.push_back(command);
        self.gathered += 1;
        true
    }

    pub(super) fn launch(&mut self, group: usize) -> Launched {
        let commands = std::mem::take(&mut self.gathered);
        self.launched.push_back((group, commands));
        let was_busy = self.busy[group] > 0;
        self.busy[group] += 1;
        Launched { commands, was_busy }
    }

    /// The next command of the group whose turn it is; its place is free again.
    pub(super) fn next(&mut self) -> Option<NextItem<T>> {
        let &mut (group, ref mut left) = self.launched.front_mut()?;
        let command = if *left > 0 { self.waiting.pop_front() } else { None };
        *left = left.saturating_sub(1);
        let last = *left == 0;
        if last {
            self.launched.pop_front();
        }
        Some(NextItem { command, group, last })
    }

    /// The oldest group of that number is done.
    pub(super) fn done(&mut self, group: usize) {
        self.busy[group] = self.busy[group].saturating_sub(1);
    }

    pub(super) fn is_busy(&self, group: usize) -> bool {
        self.busy[group] > 0
    }

    /// Returns true if nothing is queued and no group unfinished.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.busy == [0; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(queue: &mut Queue<u32>) -> Option<(Option<u32>, usize, bool)> {
        queue.next().map(|NextItem { command, group, last }| (command, group, last))
    }

    #[test]
    fn a_launch_takes_all_that_was_queued_since_the_one_before() {
        let mut queue = Queue::new();
        assert!(queue.push(1) && queue.push(2));
        assert_eq!(queue.launch(1), Launched { commands: 2, was_busy: false });
        assert!(queue.push(3));
        assert_eq!(take(&mut queue), Some((Some(1), 1, false)));
        assert_eq!(queue.launch(0).commands, 1);
        assert_eq!(take(&mut queue), Some((Some(2), 1, true)));
        assert_eq!(take(&mut queue), Some((Some(3), 0, true)));
        assert_eq!(take(&mut queue), None);
    }

    #[test]
    fn nothing_runs_that_is_not_launched() {
        let mut queue = Queue::new();
        assert!(queue.push(1));
        assert_eq!(take(&mut queue), None);
        assert!(!queue.is_idle());
    }

    #[test]
    fn a_place_is_free_when_its_command_is_loaded() {
        let mut queue = Queue::new();
        assert!((0..SLOTS as u32).all(|command| queue.push(command)));
        assert!(!queue.push(99));
        assert_eq!((queue.free(), queue.launch(0).commands), (0, SLOTS));
        assert_eq!(take(&mut queue), Some((Some(0), 0, false)));
        assert_eq!(queue.free(), 1);
    }

    #[test]
    fn a_group_is_busy_from_its_launch_until_it_is_done() {
        let mut queue = Queue::new();
        queue.push(1);
        queue.launch(1);
        take(&mut queue);
        assert_eq!((queue.is_busy(0), queue.is_busy(1), queue.is_idle()), (false, true, false));
        assert!(queue.launch(1).was_busy);
        queue.done(1);
        assert!(queue.is_busy(1));
        queue.done(1);
        assert!(queue.is_idle());
    }

    #[test]
    fn a_launch_of_nothing_is_a_group_without_commands() {
        let mut queue = Queue::<u32>::new();
        assert_eq!(queue.launch(0).commands, 0);
        assert_eq!(take(&mut queue), Some((None, 0, true)));
    }
}
