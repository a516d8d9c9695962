//! The bytes of a RAM that were written: in pages, and in small blocks where little was.

use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::ops::Range;

/// Addresses are parted into pages of so many bytes.
pub(super) const PAGE: u64 = 64 * 1024;

/// Bytes of a block. A page with few written bytes has blocks only for these.
const BLOCK: usize = 256;
const BLOCKS: usize = PAGE as usize / BLOCK;

/// Blocks of a page beyond which it is stored whole.
const MOST_BLOCKS: usize = 64;

/// Bytes that a page takes beside its own: a place in the tables.
const ENTRY: u64 = 64;

/// The pages that were written.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Places of the pages by their numbers.
    places: FxHashMap<u64, usize>,
    pages: Vec<Page>,
    /// Number and place of the last page used, which is mostly the next one as well.
    last: Cell<Option<(u64, usize)>>,
}

#[derive(Debug)]
enum Page {
    Whole(Box<[u8]>),
    Sparse(Box<Sparse>),
}

/// The written blocks of a page; all other bytes of it are zero.
#[derive(Debug)]
struct Sparse {
    /// The place of each block, counted from 1; 0: it was not written.
    places: [u8; BLOCKS],
    blocks: Vec<[u8; BLOCK]>,
}

/// Returns the number of blocks that there is room for when a page has so many: it doubles.
fn room(blocks: usize) -> usize {
    if blocks == 0 { 0 } else { blocks.next_power_of_two() }
}

/// Returns the bytes of the host's memory that a page takes when it has so many blocks.
fn cost(blocks: usize) -> u64 {
    match blocks {
        0 => 0,
        blocks if blocks > MOST_BLOCKS => PAGE + ENTRY,
        blocks => (size_of::<Sparse>() + room(blocks) * BLOCK) as u64 + ENTRY,
    }
}

/// The blocks that a run of bytes touches.
fn blocks(offset: usize, length: usize) -> Range<usize> {
    offset / BLOCK..(offset + length).div_ceil(BLOCK)
}

impl Sparse {
    fn new() -> Box<Sparse> {
        Box::new(Sparse { places: [0; BLOCKS], blocks: Vec::new() })
    }

    fn block(&self, number: usize) -> Option<&[u8; BLOCK]> {
        self.blocks.get(usize::from(self.places[number]).checked_sub(1)?)
    }

    /// Returns how many of the blocks there are not.
    fn lacking(&self, blocks: Range<usize>) -> usize {
        self.places[blocks].iter().filter(|place| **place == 0).count()
    }

    /// Adds blocks, which together are no more than [`MOST_BLOCKS`].
    fn add(&mut self, blocks: Range<usize>) {
        let total = self.blocks.len() + self.lacking(blocks.clone());
        self.blocks.reserve_exact(room(total) - self.blocks.len());
        for place in &mut self.places[blocks] {
            if *place == 0 {
                self.blocks.push([0; BLOCK]);
                *place = self.blocks.len() as u8;
            }
        }
    }

    fn whole(&self) -> Box<[u8]> {
        let mut whole = vec![0; PAGE as usize].into_boxed_slice();
        for (number, bytes) in whole.chunks_exact_mut(BLOCK).enumerate() {
            if let Some(block) = self.block(number) {
                bytes.copy_from_slice(block);
            }
        }
        whole
    }
}

impl Page {
    /// The bytes from an offset on, as many as lie together, and how many; `None`: they are zero.
    fn run(&self, offset: usize) -> (Option<&[u8]>, usize) {
        match self {
            Page::Whole(bytes) => (Some(&bytes[offset..]), bytes.len() - offset),
            Page::Sparse(sparse) => {
                let at = offset % BLOCK;
                (sparse.block(offset / BLOCK).map(|block| &block[at..]), BLOCK - at)
            }
        }
    }

    /// The runs of which bytes are made: which of them, and what they are.
    fn runs(&self, offset: usize, length: usize) -> impl Iterator<Item = (Range<usize>, Option<&[u8]>)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            if at == length {
                return None;
            }
            let (bytes, most) = self.run(offset + at);
            let part = at..length.min(at + most);
            at = part.end;
            Some((part.clone(), bytes.map(|bytes| &bytes[..part.len()])))
        })
    }
}

impl Pages {
    #[inline]
    fn place(&self, page: u64) -> Option<usize> {
        if let Some((last, place)) = self.last.get()
            && last == page
        {
            return Some(place);
        }
        let place = *self.places.get(&page)?;
        self.last.set(Some((page, place)));
        Some(place)
    }

    #[inline]
    fn get(&self, page: u64) -> Option<&Page> {
        self.place(page).map(|place| &self.pages[place])
    }

    /// The bytes from an address on, if they lie together.
    #[inline]
    fn slice(&self, address: u64, bytes: usize) -> Option<&[u8]> {
        let (page, offset) = split(address);
        match self.get(page)? {
            Page::Whole(whole) => whole.get(offset..offset + bytes),
            Page::Sparse(sparse) => sparse.block(offset / BLOCK)?.get(offset % BLOCK..offset % BLOCK + bytes),
        }
    }

    /// Returns the bytes from an address on, to be written, if they lie together.
    #[inline]
    pub(super) fn slice_mut(&mut self, address: u64, bytes: usize) -> Option<&mut [u8]> {
        let (page, offset) = split(address);
        let place = self.place(page)?;
        match &mut self.pages[place] {
            Page::Whole(whole) => whole.get_mut(offset..offset + bytes),
            Page::Sparse(sparse) => {
                let place = usize::from(sparse.places[offset / BLOCK]).checked_sub(1)?;
                sparse.blocks[place].get_mut(offset % BLOCK..offset % BLOCK + bytes)
            }
        }
    }

    pub(super) fn read(&self, address: u64, into: &mut [u8]) {
        for (page, offset, part) in parts(address, into.len()) {
            let into = &mut into[part];
            match self.get(page) {
                Some(page) => page.runs(offset, into.len()).for_each(|(part, bytes)| match bytes {
                    Some(bytes) => into[part].copy_from_slice(bytes),
                    None => into[part].fill(0),
                }),
                None => into.fill(0),
            }
        }
    }

    /// Puts bytes behind others.
    #[inline]
    pub(super) fn append(&self, address: u64, bytes: usize, onto: &mut Vec<u8>) {
        // A burst crosses no page, and mostly there is one.
        match self.slice(address, bytes) {
            Some(bytes) => onto.extend_from_slice(bytes),
            None => self.append_parts(address, bytes, onto),
        }
    }

    #[inline(never)]
    fn append_parts(&self, address: u64, bytes: usize, onto: &mut Vec<u8>) {
        for (page, offset, part) in parts(address, bytes) {
            match self.get(page) {
                Some(page) => page.runs(offset, part.len()).for_each(|(part, bytes)| match bytes {
                    Some(bytes) => onto.extend_from_slice(bytes),
                    None => onto.resize(onto.len() + part.len(), 0),
                }),
                None => onto.resize(onto.len() + part.len(), 0),
            }
        }
    }

    /// Returns how many more bytes of the host's memory it takes to write there.
    pub(super) fn need(&self, address: u64, bytes: usize) -> u64 {
        let need = |(page, offset, part): (u64, usize, Range<usize>)| {
            let touched = blocks(offset, part.len());
            match self.get(page) {
                None => cost(touched.len()),
                Some(Page::Whole(_)) => 0,
                Some(Page::Sparse(sparse)) => {
                    let have = sparse.blocks.len();
                    cost(have + sparse.lacking(touched)) - cost(have)
                }
            }
        };
        parts(address, bytes).map(need).sum()
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) {
        for (page, offset, part) in parts(address, bytes.len()) {
            self.write_page(page, offset, &bytes[part]);
        }
    }

    fn write_page(&mut self, number: u64, offset: usize, bytes: &[u8]) {
        let place = self.place(number).unwrap_or_else(|| {
            self.pages.push(Page::Sparse(Sparse::new()));
            self.places.insert(number, self.pages.len() - 1);
            self.pages.len() - 1
        });
        let page = &mut self.pages[place];
        let touched = blocks(offset, bytes.len());
        if let Page::Sparse(sparse) = page
            && sparse.blocks.len() + sparse.lacking(touched.clone()) > MOST_BLOCKS
        {
            *page = Page::Whole(sparse.whole());
        }
        match page {
            Page::Whole(whole) => whole[offset..offset + bytes.len()].copy_from_slice(bytes),
            Page::Sparse(sparse) => {
                sparse.add(touched.clone());
                let mut rest = bytes;
                for number in touched {
                    let at = if rest.len() == bytes.len() { offset % BLOCK } else { 0 };
                    let (now, later) = rest.split_at(rest.len().min(BLOCK - at));
                    let place = usize::from(sparse.places[number]) - 1;
                    sparse.blocks[place][at..at + now.len()].copy_from_slice(now);
                    rest = later;
                }
            }
        }
    }
}

/// The number of an address's page, and the offset in it.
#[inline]
fn split(address: u64) -> (u64, usize) {
    (address / PAGE, (address % PAGE) as usize)
}

/// The pages that a run of bytes touches: page number, offset inside it, and which of the bytes.
fn parts(address: u64, length: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == length {
            return None;
        }
        let (page, offset) = split(address + at as u64);
        let part = at..length.min(at + PAGE as usize - offset);
        at = part.end;
        Some((page, offset, part))
    })
}

impl Pages {
    /// The numbers of the pages that were written, in order.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.places.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// The runs of bytes of a page that were written: where they begin in it, and what they are.
    pub(super) fn written(&self, page: u64) -> Vec<(u32, Vec<u8>)> {
        let mut runs: Vec<(u32, Vec<u8>)> = Vec::new();
        let Some(page) = self.get(page) else { return runs };
        for (part, bytes) in page.runs(0, PAGE as usize) {
            let Some(bytes) = bytes else { continue };
            match runs.last_mut() {
                Some((start, run)) if *start as usize + run.len() == part.start => {
                    run.extend_from_slice(bytes);
                }
                _ => runs.push((part.start as u32, bytes.to_vec())),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the bytes that the pages take, counted from what there is.
    fn taken(pages: &Pages) -> u64 {
        let of = |page: &Page| match page {
            Page::Whole(bytes) => bytes.len() as u64 + ENTRY,
            Page::Sparse(sparse) => (size_of::<Sparse>() + sparse.blocks.capacity() * BLOCK) as u64 + ENTRY,
        };
        pages.pages.iter().map(of).sum()
    }

    proptest! {
        #[test]
        fn any_writes_are_read_back_and_take_what_was_said(
            writes in proptest::collection::vec((0u64..4 * PAGE, 0usize..5000, 1u8..), 1..60),
            at in 0u64..4 * PAGE, length in 0usize..70_000,
        ) {
            let (mut pages, mut plain, mut need) = (Pages::default(), vec![0; 6 * PAGE as usize], 0);
            for (address, length, byte) in writes {
                need += pages.need(address, length);
                pages.write(address, &vec![byte; length]);
                plain[address as usize..][..length].fill(byte);
                prop_assert_eq!(taken(&pages), need);
                prop_assert_eq!(pages.need(address, length), 0);
            }
            let expected = &plain[at as usize..][..length];
            let (mut read, mut appended) = (vec![7; length], vec![1]);
            pages.read(at, &mut read);
            pages.append(at, length, &mut appended);
            prop_assert_eq!(&read, expected);
            prop_assert_eq!(&appended[1..], expected);
            if let Some(slice) = pages.slice(at, length) {
                prop_assert_eq!(slice, expected);
            }
        }
    }

    #[test]
    fn a_byte_here_and_there_takes_little() {
        let mut pages = Pages::default();
        (0..1000).for_each(|page| pages.write(page * PAGE, &[1]));
        assert!(taken(&pages) < 1000 * 1024);
        (0..1000).for_each(|line| pages.write(line << 12, &[1]));
        assert!(taken(&pages) < 2000 * 1024);
    }

    #[test]
    fn a_page_of_which_much_is_written_is_whole() {
        let mut pages = Pages::default();
        pages.write(0, &[1; PAGE as usize]);
        assert!(pages.slice(0, PAGE as usize).is_some());
        (0..=MOST_BLOCKS as u64).for_each(|block| pages.write(PAGE + block * BLOCK as u64, &[1]));
        assert_eq!(pages.slice(PAGE, 1), Some(&[1][..]));
    }
}
