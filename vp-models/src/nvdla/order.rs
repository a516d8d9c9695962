//! The order in which the atoms of a surface come out of the MAC arrays, pass SDP and go to memory.
//!
//! Shared by CSC, whose arrays compute them in that order, CACC, which hands them over, and SDP, which writes them and reads their operands.

use std::ops::Range;

/// The order of the atoms of one surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Line after line.
    #[default]
    Lines,
    /// By Winograd's method: four lines at once, two columns after two (RTL, branch nvdlav1, `NV_NVDLA_SDP_WDMA_cmd.v`,
    /// `count_wg`).
    Tiles,
    /// A pixel of the first cube, the same of the second and so on. CACC hands them to SDP in [`Pairs`].
    Cubes(u32),
}

/// Pixels that lie side by side and follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of the cube.
    pub cube: u32,
    /// First column.
    pub x: u32,
    /// Line.
    pub y: u32,
    /// Pixels.
    pub count: u32,
}

/// Columns and lines of the output that Winograd's method makes at once: two tiles, one above the other.
const TILES: [u32; 2] = [2, 4];

/// Pixels of each cube that follow each other from CACC on, at most.
pub const PAIR: u32 = 2;

impl Order {
    /// Cubes.
    pub const fn cubes(self) -> u32 {
        match self {
            Order::Lines | Order::Tiles => 1,
            Order::Cubes(count) => count,
        }
    }

    /// Lines that are made together: atoms of others do not come between.
    pub const fn lines_together(self) -> u32 {
        match self {
            Order::Lines | Order::Cubes(_) => 1,
            Order::Tiles => TILES[1],
        }
    }

    /// All runs of a surface of that width and height, as the MAC arrays compute them.
    pub fn runs(self, width: u32, height: u32) -> impl Iterator<Item = Run> + use<> {
        let together = self.lines_together();
        let columns = match self {
            Order::Lines => width,
            Order::Tiles => TILES[0],
            Order::Cubes(_) => 1,
        };
        (0..height).step_by(together as usize).flat_map(move |first| {
            let lines = first..height.min(first.saturating_add(together));
            (0..width).step_by(columns.max(1) as usize).flat_map(move |x| {
                let count = columns.min(width - x);
                lines.clone().flat_map(move |y| (0..self.cubes()).map(move |cube| Run { cube, x, y, count }))
            })
        })
    }
}

/// The order of the atoms of several cubes behind CACC: of each cube in turns one pixel, or the two that lie side by side in an entry
/// of 64 bytes of memory, which come together (RTL, branch nvdlav1, `NV_NVDLA_CACC_delivery_ctrl.v`, is_push_skip, dataout_addr_cnt;
/// `NV_NVDLA_SDP_WDMA_cmd.v`, count_batch, is_beg_addr_odd).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// Cubes.
    cubes: u32,
    /// Columns and lines.
    size: [u32; 2],
    /// True where the first cube's address, and the bytes from line to line and from surface to surface, are an odd number of atoms.
    is_odd: [bool; 3],
}

impl Pairs {
    /// Pairs of so many cubes, whose first one lies at this address, with so many bytes from line to line and from surface to surface.
    pub fn new(cubes: u32, size: [u32; 2], place: [u32; 3], atom: u32) -> Pairs {
        Pairs { cubes, size, is_odd: place.map(|bytes| bytes / atom.max(1) % PAIR == 1) }
    }

    /// Returns true if a line begins in the middle of an entry.
    fn begins_within(&self, surface: u32, line: u32) -> bool {
        let [address, lines, surfaces] = self.is_odd;
        address ^ (lines && line % PAIR == 1) ^ (surfaces && surface % PAIR == 1)
    }

    /// Returns true if in one of so many surfaces a line of several pixels begins in the middle of an entry: its first pixel comes alone.
    pub fn has_single_first_pixel(&self, surfaces: u32) -> bool {
        let [width, height] = self.size;
        let begins_within = |surface| (0..height.min(PAIR)).any(|line| self.begins_within(surface, line));
        width > 1 && (0..surfaces.min(PAIR)).any(begins_within)
    }

    /// Pixels that come together, of which this one of a line is the first or the second.
    fn together(&self, surface: u32, line: u32, column: u32) -> Range<u32> {
        let before = u32::from(self.begins_within(surface, line));
        let first = ((column + before) / PAIR * PAIR).saturating_sub(before);
        first..((column + before) / PAIR * PAIR + PAIR - before).min(self.size[0])
    }

    /// Returns the pixels of a line that come together, one of which is that pixel, counted over lines and surfaces; and its column.
    pub fn of_pixel(&self, pixel: u64) -> (Range<u32>, u32) {
        let [width, height] = self.size.map(|size| u64::from(size.max(1)));
        let (line, column) = (pixel / width, (pixel % width) as u32);
        (self.together((line / height) as u32, (line % height) as u32, column), column)
    }

    /// Returns the cube of an atom of a surface, by its place in this order, and the pixel among those that come together.
    pub fn turn(&self, surface: u32, place: u64) -> (u32, usize) {
        let (width, cubes) = (u64::from(self.size[0].max(1)), u64::from(self.cubes));
        let (line, within) = ((place / (width * cubes)) as u32, (place % (width * cubes)) as u32);
        // What comes together has as many atoms as cubes for each of its pixels, from its first one on.
        let together = self.together(surface, line, within / self.cubes);
        let within = within - together.start * self.cubes;
        let count = together.len() as u32;
        (within / count, (within % count) as usize)
    }

    /// All runs of a surface.
    pub fn runs(self, surface: u32) -> impl Iterator<Item = Run> + use<> {
        let [width, height] = self.size;
        (0..height).flat_map(move |y| {
            let next = move |&first: &u32| Some(self.together(surface, y, first).end);
            std::iter::successors(Some(0), next).take_while(move |&x| x < width).flat_map(move |x| {
                let count = self.together(surface, y, x).end - x;
                (0..self.cubes).map(move |cube| Run { cube, x, y, count })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(order: Order, width: u32, height: u32) -> Vec<(u32, u32, u32, u32)> {
        order.runs(width, height).map(|Run { cube, x, y, count }| (cube, x, y, count)).collect()
    }

    #[test]
    fn tiles_go_down_four_lines_and_then_to_the_right() {
        let first: Vec<_> = runs(Order::Tiles, 4, 8).into_iter().take(9).collect();
        let column = |x, y| (0, x, y, 2);
        let band = [0, 2].into_iter().flat_map(|x| (0..4).map(move |y| column(x, y)));
        assert_eq!(first, band.chain([column(0, 4)]).collect::<Vec<_>>());
    }

    #[test]
    fn cubes_take_turns_pixel_by_pixel() {
        assert_eq!(runs(Order::Cubes(2), 2, 1), [(0, 0, 0, 1), (1, 0, 0, 1), (0, 1, 0, 1), (1, 1, 0, 1)]);
        assert_eq!(runs(Order::Lines, 3, 2), [(0, 0, 0, 3), (0, 0, 1, 3)]);
    }

    #[test]
    fn pixels_of_several_cubes_pair_up_within_an_entry_of_the_bus() {
        let columns = |place: [u32; 3], surface| {
            let runs = Pairs::new(2, [4, 2], place, 32).runs(surface).filter(|run| run.cube == 1);
            runs.map(|Run { x, y, count, .. }| (x, y, count)).collect::<Vec<_>>()
        };
        let (even, odd) = (|y| vec![(0, y, 2), (2, y, 2)], |y| vec![(0, y, 1), (1, y, 2), (3, y, 1)]);
        assert_eq!(columns([0, 128, 256], 0), [even(0), even(1)].concat());
        assert_eq!(columns([32, 128, 256], 0), [odd(0), odd(1)].concat());
        assert_eq!(columns([0, 160, 288], 0), [even(0), odd(1)].concat());
        assert_eq!(columns([0, 160, 288], 1), [odd(0), even(1)].concat());
    }

    #[test]
    fn a_lines_first_pixel_comes_alone_where_a_line_begins_within_an_entry() {
        let splits = |size, place, surfaces| Pairs::new(2, size, place, 32).has_single_first_pixel(surfaces);
        assert!(splits([4, 1], [32, 128, 128], 1));
        assert!(splits([4, 2], [64, 160, 320], 1) && !splits([4, 1], [64, 160, 320], 1));
        assert!(splits([4, 1], [64, 128, 160], 2) && !splits([4, 1], [64, 128, 160], 1));
        assert!(!splits([1, 3], [32, 32, 96], 3) && !splits([4, 3], [64, 128, 384], 3));
    }

    #[test]
    fn each_atom_of_several_cubes_is_of_one_run() {
        for (cubes, width, address) in [(2, 3, 0), (3, 5, 32), (5, 1, 32), (2, 4, 32)] {
            let pairs = Pairs::new(cubes, [width, 3], [address, 32, 64], 32);
            let in_runs = pairs.runs(0).flat_map(|run| (0..run.count as usize).map(move |at| (run.cube, at)));
            let in_turns = (0..u64::from(cubes * width * 3)).map(|place| pairs.turn(0, place));
            assert_eq!(in_turns.collect::<Vec<_>>(), in_runs.collect::<Vec<_>>());
        }
    }
}
