// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which node each rank runs on.

use std::ops::Range;

use gyre_layout::registers::group_page::REC_COUNT;

use crate::options::{UsageError, dimension_letter};

/// Ranks on nodes, with the process number each rank has on its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Node of each rank; node numbers count dimension a fastest.
    pub node: Vec<usize>,
    /// Number of the rank among those of its node, from 0 in rank order.
    pub process: Vec<u8>,
    /// Processes of the fullest node.
    pub per_node: usize,
    /// Parts of ranks on other nodes than theirs.
    pub away: Vec<Away>,
}

/// Contexts of a rank that live on another node, in a process of their own (EP-15).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    /// The rank.
    pub rank: u32,
    /// The contexts.
    pub contexts: Range<u8>,
    /// Where they live.
    pub node: usize,
    /// Number of the process among those of its node.
    pub process: u8,
}

impl Placement {
    /// Places `ranks` ranks on a machine of `shape`.
    ///
    /// Without `map`, ranks fill the nodes in order of their numbers, as many on each as are needed for
    /// all ranks to have a place. `map` is a permutation of the dimensions' letters and `t` (the place on
    /// the node); the last letter varies fastest. The default for three dimensions is `cbat`.
    pub fn new(ranks: usize, shape: &[u16], map: Option<&str>) -> Result<Self, UsageError> {
        let nodes: usize = shape.iter().map(|&s| usize::from(s)).product();
        let per_node = ranks.div_ceil(nodes);
        if per_node as u64 > REC_COUNT {
            return Err(too_many(0));
        }
        let default: String = (0..shape.len())
            .rev()
            .map(dimension_letter)
            .chain(std::iter::once('t'))
            .collect();
        let order = axes(map.unwrap_or(&default), shape.len())?;
        let mut at = vec![0usize; shape.len() + 1];
        let mut node = Vec::with_capacity(ranks);
        for _ in 0..ranks {
            let number = shape
                .iter()
                .zip(&at)
                .rev()
                .fold(0, |n, (&size, &x)| n * usize::from(size) + x);
            node.push(number);
            for &axis in order.iter().rev() {
                let size = shape.get(axis).map_or(per_node, |&s| usize::from(s));
                at[axis] += 1;
                if at[axis] < size {
                    break;
                }
                at[axis] = 0;
            }
        }
        Self::of_nodes(node, nodes)
    }

    /// `per_node` ranks on every node of a machine of `shape`, in order of their numbers.
    pub fn filled(per_node: usize, shape: &[u16]) -> Result<Self, UsageError> {
        let nodes: usize = shape.iter().map(|&s| usize::from(s)).product();
        Self::new(nodes * per_node, shape, None)
    }

    /// Places rank `r` on node `node[r]` of a machine of `nodes` nodes.
    pub fn of_nodes(node: Vec<usize>, nodes: usize) -> Result<Self, UsageError> {
        let mut count = vec![0usize; nodes];
        let mut process = Vec::with_capacity(node.len());
        for &n in &node {
            if count[n] as u64 == REC_COUNT {
                return Err(too_many(n));
            }
            process.push(count[n] as u8);
            count[n] += 1;
        }
        let per_node = count.into_iter().max().unwrap_or(0);
        Ok(Self {
            node,
            process,
            per_node,
            away: Vec::new(),
        })
    }

    /// The same, but contexts `contexts` of `rank` live on `node`, in a process that comes after those that the
    /// node has so far.
    pub fn with_away(
        mut self,
        rank: u32,
        contexts: Range<u8>,
        node: usize,
    ) -> Result<Self, UsageError> {
        let away = self.away.iter().map(|away| &away.node);
        let there = self.node.iter().chain(away).filter(|&&n| n == node).count();
        if there as u64 == REC_COUNT {
            return Err(too_many(node));
        }
        self.per_node = self.per_node.max(there + 1);
        self.away.push(Away {
            rank,
            contexts,
            node,
            // At most the reception FIFOs of a node.
            process: there as u8,
        });
        Ok(self)
    }
}

fn too_many(node: usize) -> UsageError {
    UsageError::Combination(format!(
        "more than {REC_COUNT} ranks on node {node}: each takes one of its {REC_COUNT} reception FIFOs; give a \
         larger --shape"
    ))
}

/// Axis numbers of a map's letters; the place on the node is axis `dims`.
fn axes(map: &str, dims: usize) -> Result<Vec<usize>, UsageError> {
    let wrong = || UsageError::Value {
        option: "--map".into(),
        value: map.into(),
        expected: format!(
            "the letters a to {} and t in any order, each once, the last varying fastest",
            dimension_letter(dims - 1)
        ),
    };
    let mut order = Vec::with_capacity(dims + 1);
    for letter in map.chars() {
        let axis = match letter {
            't' => dims,
            _ => (letter as usize).wrapping_sub('a' as usize),
        };
        if (axis >= dims && letter != 't') || order.contains(&axis) {
            return Err(wrong());
        }
        order.push(axis);
    }
    if order.len() == dims + 1 {
        Ok(order)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_nodes_in_order() {
        let p = Placement::new(8, &[3, 1, 2], None).unwrap();
        assert_eq!(p.node, [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(p.process, [0, 1, 0, 1, 0, 1, 0, 1]);
        let p = Placement::new(8, &[2, 2, 2], None).unwrap();
        assert_eq!(p.node, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_map_orders_the_axes() {
        let p = Placement::new(4, &[2, 2], Some("tab")).unwrap();
        assert_eq!(p.node, [0, 2, 1, 3]);
        let p = Placement::new(8, &[2, 2], Some("tba")).unwrap();
        assert_eq!(p.node, [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(p.process, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert!(Placement::new(64, &[2, 2], None).is_ok());
        assert!(Placement::new(65, &[2, 2], None).is_err());
        for wrong in ["ab", "aabt", "abct", "abt ", ""] {
            assert!(Placement::new(4, &[2, 2], Some(wrong)).is_err(), "{wrong}");
        }
    }
}
