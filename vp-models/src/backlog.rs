//! Queue of what is kept for somebody who may never ask for it.

use std::collections::VecDeque;

/// The newest of what nobody has asked for yet, [`Backlog::MOST`] at most unless another number is [given](Backlog::of), and how many
/// there were before.
///
/// ```
/// use vp_models::backlog::Backlog;
/// let mut backlog = Backlog::default();
/// (0..5000).for_each(|item| backlog.push(item));
/// let (left_out, kept) = backlog.take();
/// assert_eq!((left_out, kept.len(), kept[0]), (5000 - Backlog::<i32>::MOST as u64, 4096, 904));
/// assert_eq!(backlog.take(), (0, Vec::new()));
///
/// let mut short = Backlog::of(2);
/// (0..5).for_each(|item| short.push(item));
/// assert_eq!((short.pop(), short.take_left_out(), short.take()), (Some(3), 3, (0, vec![4])));
/// ```
#[derive(Clone, Debug)]
pub struct Backlog<T> {
    kept: VecDeque<T>,
    left_out: u64,
    most: usize,
}

impl<T> Default for Backlog<T> {
    fn default() -> Self {
        Backlog::of(Self::MOST)
    }
}

impl<T> Backlog<T> {
    /// Number of items kept, at most, unless another number is given.
    pub const MOST: usize = 4096;

    /// Nothing yet; `most` are kept.
    #[must_use]
    pub fn of(most: usize) -> Self {
        Backlog { kept: VecDeque::new(), left_out: 0, most }
    }

    /// Adds the newest, in place of the oldest if there is no room.
    pub fn push(&mut self, item: T) {
        if self.kept.len() >= self.most {
            self.kept.pop_front();
            self.left_out += 1;
        }
        self.kept.push_back(item);
    }

    /// Returns true if nothing was added since [`Backlog::take`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Takes the oldest that is kept.
    pub fn pop(&mut self) -> Option<T> {
        self.kept.pop_front()
    }

    /// Forgets all, and how many were left out.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.left_out = 0;
    }

    /// Returns the number of items left out since this was asked last.
    pub fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }

    /// Returns the number of items left out, and those that came after them, oldest first; nothing is kept then.
    pub fn take(&mut self) -> (u64, Vec<T>) {
        (std::mem::take(&mut self.left_out), std::mem::take(&mut self.kept).into())
    }
}

/// Message before the warnings that were kept, if others were left out.
#[must_use]
pub fn warnings_left_out(count: u64) -> String {
    let (warnings, them) = if count == 1 { ("warning", "it") } else { ("warnings", "them") };
    format!("{count} {warnings} before these left out: nobody asked for {them}")
}
