//! RUBIK's work on the contents of its register file: it only reorders bytes.

use super::layer::{Mode, RubikLayer};
use super::timing::Tile;

/// Reorders a tile: from its reads, one after the other, to its writes.
pub(super) fn reorder(layer: &RubikLayer, tile: &Tile, input: &[u8]) -> Vec<u8> {
    let RubikLayer { atom, element, .. } = *layer;
    let pixels = tile.width as usize;
    let planes = tile.planes as usize;
    let plane = tile.plane_atoms(layer) as usize * atom;
    match layer.mode {
        // Blocks of pixels become pixels of blocks.
        Mode::Contract { .. } => {
            let mut output = Vec::with_capacity(input.len());
            for pixel in 0..pixels {
                for block in 0..planes {
                    let at = (block * pixels + pixel) * atom;
                    output.extend_from_slice(&input[at..at + atom]);
                }
            }
            output
        }
        Mode::Split => {
            let mut output = vec![0; planes * plane];
            for (pixel, elements) in input.chunks_exact(atom).enumerate() {
                for (channel, value) in elements.chunks_exact(element).take(planes).enumerate() {
                    let at = channel * plane + pixel * element;
                    output[at..at + element].copy_from_slice(value);
                }
            }
            output
        }
        Mode::Merge => {
            let mut output = vec![0; pixels * atom];
            for (channel, line) in input.chunks_exact(plane).enumerate() {
                for (pixel, value) in line.chunks_exact(element).take(pixels).enumerate() {
                    let at = pixel * atom + channel * element;
                    output[at..at + element].copy_from_slice(value);
                }
            }
            output
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::RubikSurface;
    use super::*;
    use crate::nvdla::cube::Ram;

    const NOWHERE: RubikSurface =
        RubikSurface { ram: Ram::Primary, base: 0, line_stride: 0, surface_stride: 0 };

    fn layer(mode: Mode, element: usize) -> RubikLayer {
        let (source, destination) = (NOWHERE, NOWHERE);
        RubikLayer { atom: 4, mode, element, width: 3, height: 1, channels: 3, source, destination }
    }

    fn tile(width: u32, planes: u32) -> Tile {
        Tile { surface: 0, y: 0, step_y: 0, x: 0, width, first_plane: 0, planes }
    }

    #[test]
    fn contraction_interleaves_blocks() {
        let contract = layer(Mode::Contract { x: 2, y: 1, block_stride: 0 }, 2);
        let input = [[1; 4], [2; 4], [3; 4], [11; 4], [12; 4], [13; 4]].concat();
        let output = [[1; 4], [11; 4], [2; 4], [12; 4], [3; 4], [13; 4]].concat();
        assert_eq!(reorder(&contract, &tile(3, 2), &input), output);
    }

    #[test]
    fn splitting_pads_planes_with_zeros() {
        let input = [11, 21, 31, 99, 12, 22, 32, 99, 13, 23, 33, 99];
        let output = [11, 12, 13, 0, 21, 22, 23, 0, 31, 32, 33, 0];
        assert_eq!(reorder(&layer(Mode::Split, 1), &tile(3, 3), &input), output);
    }

    #[test]
    fn merging_leaves_unused_lanes_zero() {
        let input = [11, 12, 13, 99, 21, 22, 23, 99, 31, 32, 33, 99];
        let output = [11, 21, 31, 0, 12, 22, 32, 0, 13, 23, 33, 0];
        assert_eq!(reorder(&layer(Mode::Merge, 1), &tile(3, 3), &input), output);
    }

    #[test]
    fn elements_of_two_bytes_stay_together() {
        let (merge, split) = (layer(Mode::Merge, 2), layer(Mode::Split, 2));
        let cube = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let planes = [1, 2, 5, 6, 9, 10, 0, 0, 3, 4, 7, 8, 11, 12, 0, 0];
        assert_eq!(reorder(&split, &tile(3, 2), &cube), planes);
        assert_eq!(reorder(&merge, &tile(3, 2), &planes), cube);
    }
}
