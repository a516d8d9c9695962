//! The order in which the atoms of a surface come out of the MAC arrays, pass SDP and go to memory.
//!
//! Shared by CSC, whose arrays compute them in that order, and SDP, which writes them and reads their operands.

/// The order of the atoms of one surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Line after line.
    #[default]
    Lines,
    /// By Winograd's method: four lines at once, two columns after two (RTL, branch nvdlav1, `NV_NVDLA_SDP_WDMA_cmd.v`,
    /// `count_wg`).
    Tiles,
    /// Two pixels of a line of the first cube, the same of the second and so on (same file, `count_batch`).
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

/// Pixels of each cube that follow each other.
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

    /// For an atom of a surface, by its place in this order: its cube, and its pixel within the cube's run
    /// where cubes take turns.
    pub fn turn(self, width: u32, place: u64) -> (u32, usize) {
        let Order::Cubes(cubes) = self else { return (0, 0) };
        let (width, cubes, pair) = (u64::from(width), u64::from(cubes), u64::from(PAIR));
        let within = place % (width * cubes);
        let first = within / (pair * cubes) * pair;
        let count = pair.min(width - first);
        let within = within - first * cubes;
        ((within / count) as u32, (within % count) as usize)
    }

    /// All runs of a surface of that width and height.
    pub fn runs(self, width: u32, height: u32) -> impl Iterator<Item = Run> + use<> {
        let together = self.lines_together();
        let columns = match self {
            Order::Lines => width,
            Order::Tiles => TILES[0],
            Order::Cubes(_) => PAIR,
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
    fn cubes_take_turns_by_pairs_of_pixels() {
        let expected = [(0, 0, 0, 2), (1, 0, 0, 2), (0, 2, 0, 1), (1, 2, 0, 1)];
        assert_eq!(runs(Order::Cubes(2), 3, 1), expected);
        assert_eq!(runs(Order::Lines, 3, 2), [(0, 0, 0, 3), (0, 0, 1, 3)]);
        let turns: Vec<_> = (6..12).map(|place| Order::Cubes(2).turn(3, place)).collect();
        assert_eq!(turns, [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0), (1, 0)]);
    }
}
