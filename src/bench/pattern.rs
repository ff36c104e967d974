// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic patterns: who sends to whom.

use rand::RngExt;
use strum::{Display, EnumString};

use gyre::options::UsageError;

/// A synthetic traffic pattern; destinations as in the interconnection literature.
#[derive(Debug, Clone, Copy, Display, EnumString, PartialEq, Eq, PartialOrd)]
#[cfg_attr(test, derive(strum::VariantArray))]
#[strum(serialize_all = "kebab-case")]
pub enum Pattern {
    /// Any other node with equal probability.
    Uniform,
    /// In every dimension almost half way round: `ceil(k / 2) - 1` steps up.
    Tornado,
    /// Coordinates in reverse order; needs a shape that reads the same backwards.
    Transpose,
    /// Coordinate `x` becomes `k - 1 - x`; with sizes of powers of two, all bits inverted.
    BitComplement,
    /// One step up in the first dimension longer than 1.
    Neighbour,
    /// A quarter of all packets to node 0, the rest uniform.
    HotSpot,
}

/// Values of `--set pattern=`.
pub const EXPECTED: &str = "uniform, tornado, transpose, bit-complement, neighbour or hot-spot";

impl Pattern {
    /// Refuses shapes on which the pattern is not defined or sends nothing.
    pub fn check(self, shape: &[u16]) -> Result<(), UsageError> {
        let refuse = |why: &str| {
            Err(UsageError::Combination(format!(
                "pattern {self} on shape {}: {why}",
                gyre::options::shape_text(shape)
            )))
        };
        if shape.iter().all(|&s| s == 1) {
            return refuse("there is no other node");
        }
        if self == Self::Transpose && shape.iter().ne(shape.iter().rev()) {
            return refuse("sizes must read the same backwards");
        }
        // What moves is a coordinate that changes places with another.
        let mut moving = shape.iter().take(shape.len() / 2);
        if self == Self::Transpose && moving.all(|&s| s == 1) {
            return refuse("every node would send to itself");
        }
        if self == Self::Tornado && shape.iter().all(|&s| s < 3) {
            return refuse("needs a dimension of 3 or more");
        }
        Ok(())
    }

    /// Destination of the next packet of the node at `from`, or `None` if the pattern maps the node to
    /// itself: it then sends nothing.
    pub fn destination(
        self,
        from: &[u16],
        shape: &[u16],
        rng: &mut impl RngExt,
    ) -> Option<Vec<u16>> {
        let pairs = from.iter().zip(shape);
        let to: Vec<u16> = match self {
            Self::Uniform => return Some(other_node(from, shape, rng)),
            Self::HotSpot => {
                let hot = vec![0; shape.len()];
                if from != hot && rng.random_ratio(1, 4) {
                    return Some(hot);
                }
                return Some(other_node(from, shape, rng));
            }
            Self::Tornado => pairs.map(|(&x, &k)| (x + k.div_ceil(2) - 1) % k).collect(),
            Self::Transpose => from.iter().rev().copied().collect(),
            Self::BitComplement => pairs.map(|(&x, &k)| k - 1 - x).collect(),
            Self::Neighbour => {
                let mut to = from.to_vec();
                let d = shape.iter().position(|&k| k > 1)?;
                to[d] = (to[d] + 1) % shape[d];
                to
            }
        };
        (to != from).then_some(to)
    }
}

/// A node other than `from`, each with equal probability.
fn other_node(from: &[u16], shape: &[u16], rng: &mut impl RngExt) -> Vec<u16> {
    let nodes: u32 = shape.iter().map(|&s| u32::from(s)).product();
    let own = node_number(from, shape);
    let mut number = rng.random_range(0..nodes - 1);
    if number >= own {
        number += 1;
    }
    coordinates(number, shape)
}

/// Number of the node at `at`; dimension a counts fastest.
pub fn node_number(at: &[u16], shape: &[u16]) -> u32 {
    at.iter()
        .zip(shape)
        .rev()
        .fold(0, |n, (&x, &k)| n * u32::from(k) + u32::from(x))
}

/// Coordinates of node `number`.
pub fn coordinates(number: u32, shape: &[u16]) -> Vec<u16> {
    let mut rest = number;
    shape
        .iter()
        .map(|&k| {
            let x = rest % u32::from(k);
            rest /= u32::from(k);
            x as u16
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;
    use strum::VariantArray;

    #[test]
    fn patterns_never_send_to_themselves_and_stay_inside() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for shape in [vec![4u16, 3, 4], vec![8, 8], vec![5]] {
            let nodes: u32 = shape.iter().map(|&s| u32::from(s)).product();
            for &pattern in Pattern::VARIANTS {
                for node in 0..nodes {
                    let from = coordinates(node, &shape);
                    assert_eq!(node_number(&from, &shape), node);
                    for _ in 0..20 {
                        if let Some(to) = pattern.destination(&from, &shape, &mut rng) {
                            assert_ne!(to, from, "{pattern}");
                            assert!(to.iter().zip(&shape).all(|(x, k)| x < k), "{pattern}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn tornado_goes_almost_half_way() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let to = Pattern::Tornado.destination(&[6, 0], &[8, 8], &mut rng);
        assert_eq!(to, Some(vec![1, 3]));
    }

    #[test]
    fn shapes_without_meaning_are_refused() {
        assert!(Pattern::Transpose.check(&[4, 2]).is_err());
        assert!(Pattern::Uniform.check(&[1, 1]).is_err());
        assert!(Pattern::Tornado.check(&[2, 2]).is_err());
        assert!(Pattern::Transpose.check(&[4, 2, 4]).is_ok());
        assert!(Pattern::Transpose.check(&[8]).is_err());
        assert!(Pattern::Transpose.check(&[1, 8, 1]).is_err());
    }
}
