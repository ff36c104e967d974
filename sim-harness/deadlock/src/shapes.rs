// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machines of a check of everything.

use crate::torus::{MAX_DIMS, Torus};

/// Sizes of a dimension that are checked. A dimension of one node has no link and decides no route, so a shape
/// stands for those with such dimensions anywhere in it as well.
const SIZES: [u8; 5] = [2, 3, 4, 5, 8];

/// Sizes of a machine's dimensions, each a ring or a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes and wrap link of each dimension.
    pub dims: Vec<(u8, bool)>,
}

impl Shape {
    /// The machine.
    pub fn torus(&self) -> Torus {
        Torus::new(&self.dims)
    }

    /// Shapes of 1 to 5 dimensions with this one's sizes and order, and dimensions of one node between them.
    pub fn stands_for(&self) -> usize {
        let own = self.dims.len();
        (own.max(1)..=MAX_DIMS).map(|dims| choose(dims, own)).sum()
    }
}

/// Ways to choose `k` of `n`.
fn choose(n: usize, k: usize) -> usize {
    (0..k).fold(1, |ways, i| ways * (n - i) / (i + 1))
}

/// Every shape of up to 5 dimensions of 2, 3, 4, 5 and 8 nodes in every order, with every mixture of rings and lines.
pub fn every_shape() -> Vec<Shape> {
    let mut all = vec![Shape { dims: Vec::new() }];
    let mut begin = 0;
    for _ in 0..MAX_DIMS {
        let end = all.len();
        for shorter in begin..end {
            for size in SIZES {
                for ring in [false, true] {
                    let mut dims = all[shorter].dims.clone();
                    dims.push((size, ring));
                    all.push(Shape { dims });
                }
            }
        }
        begin = end;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x3_every_shape_of_sizes_1_to_5_and_8_is_covered() {
        let all = every_shape();
        assert_eq!(all.len(), (0..=5).map(|dims| 10usize.pow(dims)).sum());
        // Sizes 1 (no link: ring or line alike), 2, 3, 4, 5, 8 (each ring or line).
        let covered: usize = all.iter().map(Shape::stands_for).sum();
        assert_eq!(covered, (1..=5).map(|dims| 11usize.pow(dims)).sum());
    }
}
