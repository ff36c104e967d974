// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes between a member and the root of the tree that joins all members.

use std::collections::BTreeMap;

use gyre_driver::{Context, Platform, RoutePart, TaskLocation, tree_parent};

use super::message::Above;
use crate::error::Error;
use crate::geometry::Geometry;

/// The nodes from the member's own up to the root of the smallest tree that joins all members, with their roles;
/// `None` if a node on the way has no task to act for it.
pub(crate) fn path_up<P: Platform>(
    context: &Context<P>,
    geometry: &Geometry,
    rank: u32,
) -> Result<Option<Vec<Above>>, Error> {
    let numbers = context.node_numbers()?;
    let tasks = context.tasks();
    // By node: its agent on the collective network, and its endpoints.
    let mut members: BTreeMap<u32, (u32, u16)> = BTreeMap::new();
    let mut own = 0;
    for (position, &task) in geometry.tasks().iter().enumerate() {
        let ranks = geometry.ranks_of(position);
        let node = numbers.number(tasks.location(task)?.node);
        let (_, locals) = members.entry(node).or_insert((ranks[0], 0));
        *locals += ranks.len() as u16; // at most 256 tasks of 255 contexts
        if ranks.contains(&rank) {
            own = node;
        }
    }
    let nodes: Vec<u32> = members.keys().copied().collect();
    let served = |node: u32| match members.get(&node) {
        Some(&(agent, locals)) => Some((geometry.endpoints()[agent as usize], locals)),
        None => {
            let location = TaskLocation {
                node: numbers.coord(node),
                process: 0,
            };
            let endpoint = context.endpoint(tasks.task_at(location)?, 0).ok()?;
            Some((endpoint, 0))
        }
    };
    let mut path = Vec::new();
    let mut node = own;
    let top = loop {
        let Some(part) = RoutePart::of(&nodes, node) else {
            return Ok(None);
        };
        let Some((endpoint, locals)) = served(node) else {
            return Ok(None);
        };
        path.push(Above {
            endpoint,
            part,
            locals,
            second: node > 0 && node.is_multiple_of(2),
        });
        match tree_parent(node).filter(|_| part.parent) {
            Some(parent) => node = parent,
            None => break node,
        }
    };
    // The result must be the same at all members.
    for &member in &nodes {
        let mut node = member;
        while node > top {
            node = (node - 1) / 2;
            if served(node).is_none() {
                return Ok(None);
            }
        }
    }
    Ok(Some(path))
}
