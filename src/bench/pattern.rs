// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic patterns: who sends to whom.

use std::path::Path;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use strum::{Display, EnumString};

use gyre::options::{CONFIGURATION_BYTES, UsageError, shape_text};

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
    /// The bits of the node's number in reverse order; needs a power of two of nodes.
    BitReverse,
    /// The bits of the node's number one place up, the highest becomes the lowest; needs a power of two of nodes.
    Shuffle,
    /// One step up in the first dimension longer than 1.
    Neighbour,
    /// Each node to one other, drawn by the seed: all nodes are one cycle.
    Permutation,
    /// A share of all packets to one node, the rest uniform.
    HotSpot,
    /// As a file says how much each node sends to each other.
    Matrix,
}

/// Values of `--set pattern=`.
pub const EXPECTED: &str = "uniform, tornado, transpose, bit-complement, bit-reverse, shuffle, neighbour, permutation, hot-spot \
                            or matrix";

/// Stream of random numbers that draws a permutation; those of sources have lower numbers.
const PERMUTATION_STREAM: u64 = u64::MAX;

/// What a pattern needs besides the shape.
#[derive(Debug, Clone)]
pub struct Choice<'a> {
    /// The pattern.
    pub pattern: Pattern,
    /// Seed of a permutation.
    pub seed: u64,
    /// The node of a hot spot.
    pub hot_node: usize,
    /// The part of all packets that goes there.
    pub hot_share: f64,
    /// The file of a matrix.
    pub matrix: Option<&'a Path>,
}

/// Destinations of packets in a pattern on a shape.
#[derive(Debug, Clone)]
pub struct Destinations {
    pattern: Pattern,
    rule: Rule,
    /// What they depend on besides the pattern, for results.
    params: Vec<(&'static str, Value)>,
}

#[derive(Debug, Clone)]
enum Rule {
    /// By coordinates alone, or any other node.
    Coordinates,
    /// By node: its only destination.
    Fixed(Arc<[u32]>),
    /// So many of all packets to a node.
    Hot { at: Vec<u16>, share: f64 },
    /// By node: how much it sends to each node and those before it; nothing of one that sends nothing.
    Weights(Arc<[Vec<f64>]>),
}

impl Destinations {
    /// The destinations of a pattern on a shape.
    ///
    /// # Errors
    /// A shape on which the pattern is not defined or sends nothing; a node that is not there; a file that cannot be read.
    pub fn new(choice: &Choice<'_>, shape: &[u16]) -> Result<Self, UsageError> {
        let pattern = choice.pattern;
        check(pattern, shape)?;
        let nodes = nodes(shape);
        let bits = nodes.ilog2();
        let mut params = Vec::new();
        let rule = match pattern {
            Pattern::BitReverse => Rule::Fixed(
                (0..nodes)
                    .map(|node| node.reverse_bits() >> (32 - bits))
                    .collect(),
            ),
            Pattern::Shuffle => Rule::Fixed(
                (0..nodes)
                    .map(|node| (node << 1 | node >> (bits - 1)) & (nodes - 1))
                    .collect(),
            ),
            Pattern::Permutation => Rule::Fixed(cycle(nodes, choice.seed)),
            Pattern::HotSpot => {
                if choice.hot_node >= nodes as usize {
                    return Err(UsageError::Value {
                        option: "--set hot_node".into(),
                        value: choice.hot_node.to_string(),
                        expected: format!("0 to {} on shape {}", nodes - 1, shape_text(shape)),
                    });
                }
                params.push(("hot_node", choice.hot_node.into()));
                params.push(("hot_share", choice.hot_share.into()));
                Rule::Hot {
                    at: coordinates(choice.hot_node as u32, shape),
                    share: choice.hot_share,
                }
            }
            Pattern::Matrix => {
                let file = choice.matrix.ok_or_else(|| {
                    UsageError::Combination("pattern=matrix: expected --set matrix=FILE".into())
                })?;
                params.push(("matrix", file.display().to_string().into()));
                Rule::Weights(read(file, nodes as usize)?)
            }
            _ => Rule::Coordinates,
        };
        Ok(Self {
            pattern,
            rule,
            params,
        })
    }

    /// The pattern.
    pub const fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// What they depend on besides the pattern.
    pub fn params(&self) -> impl Iterator<Item = (String, Value)> {
        self.params
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
    }

    /// Destination of the next packet of the node at `from`, or `None` if the pattern maps the node to
    /// itself: it then sends nothing.
    pub fn destination(
        &self,
        from: &[u16],
        shape: &[u16],
        rng: &mut impl RngExt,
    ) -> Option<Vec<u16>> {
        let to = match &self.rule {
            Rule::Coordinates => moved(self.pattern, from, shape, rng)?,
            Rule::Fixed(to) => coordinates(to[node_number(from, shape) as usize], shape),
            Rule::Hot { at, share } => match from != at && rng.random_bool(*share) {
                true => at.clone(),
                false => other_node(from, shape, rng),
            },
            Rule::Weights(weights) => {
                let sums = &weights[node_number(from, shape) as usize];
                let point = rng.random::<f64>() * sums.last()?;
                coordinates(sums.partition_point(|&sum| sum <= point) as u32, shape)
            }
        };
        (to != from).then_some(to)
    }
}

/// Refuses shapes on which a pattern is not defined or sends nothing.
fn check(pattern: Pattern, shape: &[u16]) -> Result<(), UsageError> {
    let refuse = |why: &str| {
        Err(UsageError::Combination(format!(
            "pattern {pattern} on shape {}: {why}",
            shape_text(shape)
        )))
    };
    if shape.iter().all(|&s| s == 1) {
        return refuse("there is no other node");
    }
    if pattern == Pattern::Transpose && shape.iter().ne(shape.iter().rev()) {
        return refuse("sizes must read the same backwards");
    }
    // What moves is a coordinate that changes places with another.
    let mut moving = shape.iter().take(shape.len() / 2);
    if pattern == Pattern::Transpose && moving.all(|&s| s == 1) {
        return refuse("every node would send to itself");
    }
    if pattern == Pattern::Tornado && shape.iter().all(|&s| s < 3) {
        return refuse("needs a dimension of 3 or more");
    }
    let nodes = nodes(shape);
    let by_bits = matches!(pattern, Pattern::BitReverse | Pattern::Shuffle);
    if by_bits && (!nodes.is_power_of_two() || nodes < 4) {
        return refuse("needs a power of two of nodes, 4 or more");
    }
    Ok(())
}

/// Destination by coordinates.
fn moved(pattern: Pattern, from: &[u16], shape: &[u16], rng: &mut impl RngExt) -> Option<Vec<u16>> {
    let pairs = from.iter().zip(shape);
    Some(match pattern {
        Pattern::Tornado => pairs.map(|(&x, &k)| (x + k.div_ceil(2) - 1) % k).collect(),
        Pattern::Transpose => from.iter().rev().copied().collect(),
        Pattern::BitComplement => pairs.map(|(&x, &k)| k - 1 - x).collect(),
        Pattern::Neighbour => {
            let mut to = from.to_vec();
            let d = shape.iter().position(|&k| k > 1)?;
            to[d] = (to[d] + 1) % shape[d];
            to
        }
        _ => other_node(from, shape, rng),
    })
}

/// A permutation that is one cycle of all nodes, by seed (Sattolo's algorithm).
fn cycle(nodes: u32, seed: u64) -> Arc<[u32]> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(PERMUTATION_STREAM);
    let mut to: Vec<u32> = (0..nodes).collect();
    for place in (1..to.len()).rev() {
        to.swap(place, rng.random_range(0..place));
    }
    to.into()
}

/// Reads how much each node sends to each: a line of weights a node, by number; `#` begins a comment.
fn read(file: &Path, nodes: usize) -> Result<Arc<[Vec<f64>]>, UsageError> {
    let wrong = |text: String| UsageError::Combination(format!("{}: {text}", file.display()));
    let text =
        gyre_files::keep(file).and_then(|()| gyre_files::read_text(file, CONFIGURATION_BYTES));
    let text = text.map_err(|error| wrong(error.to_string()))?;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default();
        let words: Vec<&str> = content.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        if words.len() != nodes || rows.len() == nodes {
            return Err(wrong(format!(
                "line {line}: expected {nodes} lines of {nodes} weights, found {} weights in line {} of them",
                words.len(),
                rows.len() + 1
            )));
        }
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(nodes);
        for (column, word) in words.iter().enumerate() {
            let weight = word
                .parse::<f64>()
                .ok()
                .filter(|weight| weight.is_finite() && *weight >= 0.0);
            let Some(weight) = weight else {
                return Err(wrong(format!(
                    "line {line}: expected a weight, 0 or more, found `{word}`"
                )));
            };
            if column == rows.len() && weight > 0.0 {
                return Err(wrong(format!(
                    "line {line}: expected 0 from node {column} to itself, found `{word}`"
                )));
            }
            sum += weight;
            sums.push(sum);
        }
        rows.push(if sum > 0.0 { sums } else { Vec::new() });
    }
    if rows.len() != nodes {
        return Err(wrong(format!(
            "expected {nodes} lines of {nodes} weights, found {} lines",
            rows.len()
        )));
    }
    if rows.iter().all(Vec::is_empty) {
        return Err(wrong("expected a weight above 0".into()));
    }
    Ok(rows.into())
}

/// A node other than `from`, each with equal probability.
fn other_node(from: &[u16], shape: &[u16], rng: &mut impl RngExt) -> Vec<u16> {
    let nodes = nodes(shape);
    let own = node_number(from, shape);
    let mut number = rng.random_range(0..nodes - 1);
    if number >= own {
        number += 1;
    }
    coordinates(number, shape)
}

/// Nodes of a shape.
fn nodes(shape: &[u16]) -> u32 {
    shape.iter().map(|&size| u32::from(size)).product()
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
    use std::collections::BTreeMap;
    use std::fs;
    use strum::VariantArray;

    fn choice(pattern: Pattern) -> Choice<'static> {
        Choice {
            pattern,
            seed: 7,
            hot_node: 3,
            hot_share: 0.25,
            matrix: None,
        }
    }

    fn on(pattern: Pattern, shape: &[u16]) -> Result<Destinations, String> {
        Destinations::new(&choice(pattern), shape).map_err(|error| error.to_string())
    }

    /// Destinations of every node, each asked so often.
    fn drawn(
        destinations: &Destinations,
        shape: &[u16],
        times: usize,
    ) -> BTreeMap<(u32, u32), usize> {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let nodes = nodes(shape);
        let mut found = BTreeMap::new();
        for node in 0..nodes {
            let from = coordinates(node, shape);
            assert_eq!(node_number(&from, shape), node);
            for _ in 0..times {
                if let Some(to) = destinations.destination(&from, shape, &mut rng) {
                    assert_ne!(to, from);
                    assert!(to.iter().zip(shape).all(|(x, k)| x < k));
                    *found.entry((node, node_number(&to, shape))).or_default() += 1;
                }
            }
        }
        found
    }

    #[test]
    fn patterns_never_send_to_themselves_and_stay_inside() {
        for shape in [vec![4u16, 3, 4], vec![8, 8], vec![5]] {
            for &pattern in Pattern::VARIANTS {
                if let Ok(destinations) = on(pattern, &shape) {
                    assert!(!drawn(&destinations, &shape, 20).is_empty(), "{pattern}");
                }
            }
        }
    }

    #[test]
    fn patterns_of_bits_move_bits_of_the_number() {
        let to = |pattern| -> Vec<(u32, u32)> {
            let destinations = on(pattern, &[4, 2]).expect("a power of two");
            drawn(&destinations, &[4, 2], 1).into_keys().collect()
        };
        let reversed = [(1, 4), (3, 6), (4, 1), (6, 3)];
        assert_eq!(to(Pattern::BitReverse), reversed);
        let shuffled = [(1, 2), (2, 4), (3, 6), (4, 1), (5, 3), (6, 5)];
        assert_eq!(to(Pattern::Shuffle), shuffled);
        assert!(on(Pattern::Shuffle, &[3, 2]).is_err());
        assert!(on(Pattern::BitReverse, &[2]).is_err());
    }

    #[test]
    fn permutation_is_one_cycle_of_all_nodes_by_seed() {
        let shape = [4, 4];
        let of = |seed| {
            let with_seed = Choice {
                seed,
                ..choice(Pattern::Permutation)
            };
            let destinations = Destinations::new(&with_seed, &shape).expect("made");
            drawn(&destinations, &shape, 1)
        };
        let to: BTreeMap<u32, u32> = of(1).into_keys().collect();
        let mut at = 0;
        for step in 1..=16 {
            at = to[&at];
            assert_eq!(at == 0, step == 16);
        }
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn hot_spot_takes_its_share_and_no_node_beyond_the_shape() {
        let destinations = on(Pattern::HotSpot, &[4, 4]).expect("made");
        let found = drawn(&destinations, &[4, 4], 1000);
        let hot: usize = (0..16).filter_map(|node| found.get(&(node, 3))).sum();
        // A quarter of those of the other 15, and a fifteenth of the rest.
        assert!((4300..4700).contains(&hot), "{hot}");
        let error = on(Pattern::HotSpot, &[3]).expect_err("3 nodes");
        assert_eq!(
            error,
            "--set hot_node: expected 0 to 2 on shape 3, found `3`"
        );
    }

    #[test]
    fn x5_matrix_weighs_destinations_and_is_refused_by_line() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let file = dir.path().join("m.txt");
        let matrix = |text: &str| {
            fs::write(&file, text).expect("written");
            let of_file = Choice {
                matrix: Some(&file),
                ..choice(Pattern::Matrix)
            };
            let made = Destinations::new(&of_file, &[3]).map_err(|error| error.to_string());
            made.map(|destinations| drawn(&destinations, &[3], 1000))
        };
        let found = matrix("# to 0, 1, 2\n0 3 1\n\n0 0 0 # silent\n5e-1 0 0\n").expect("accepted");
        assert_eq!(found[&(2, 0)], 1000);
        assert!((700..800).contains(&found[&(0, 1)]), "{found:?}");
        assert!(!found.contains_key(&(1, 0)));
        for (text, words) in [
            (
                "0 1\n",
                "m.txt: line 1: expected 3 lines of 3 weights, found 2 weights in line 1 of them",
            ),
            (
                "0 1 1\n",
                "m.txt: expected 3 lines of 3 weights, found 1 lines",
            ),
            (
                "0 x 1\n",
                "m.txt: line 1: expected a weight, 0 or more, found `x`",
            ),
            (
                "0 1 1\n1 1 1\n",
                "m.txt: line 2: expected 0 from node 1 to itself, found `1`",
            ),
            (
                "0 -1 1\n",
                "line 1: expected a weight, 0 or more, found `-1`",
            ),
            ("0 0 0\n0 0 0\n0 0 0\n", "m.txt: expected a weight above 0"),
        ] {
            let error = matrix(text).expect_err("refused");
            assert!(error.contains(words), "{error}");
        }
        let error = on(Pattern::Matrix, &[3]).expect_err("no file");
        assert_eq!(error, "pattern=matrix: expected --set matrix=FILE");
    }

    #[test]
    fn tornado_goes_almost_half_way() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let tornado = on(Pattern::Tornado, &[8, 8]).expect("made");
        let to = tornado.destination(&[6, 0], &[8, 8], &mut rng);
        assert_eq!(to, Some(vec![1, 3]));
    }

    #[test]
    fn shapes_without_meaning_are_refused() {
        assert!(on(Pattern::Transpose, &[4, 2]).is_err());
        assert!(on(Pattern::Uniform, &[1, 1]).is_err());
        assert!(on(Pattern::Tornado, &[2, 2]).is_err());
        assert!(on(Pattern::Transpose, &[4, 2, 4]).is_ok());
        assert!(on(Pattern::Transpose, &[8]).is_err());
        assert!(on(Pattern::Transpose, &[1, 8, 1]).is_err());
    }
}
