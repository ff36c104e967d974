// SPDX-License-Identifier: MIT OR Apache-2.0
//! Link utilisation for people: a table by direction and a map by node.

use gyre_sim::MachineConfig;
use serde_json::{Value, json};

use gyre::options::dimension_letter;

/// Shades from idle to busy.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// Nodes beyond which the map is left out.
const MAX_NODES: usize = 512;

/// One row for each direction that has links: mean over its links and largest share of cycles in which a
/// flit was sent.
pub fn link_table(config: &MachineConfig, flits: &[Vec<u64>], cycles: u64) -> Vec<Value> {
    let mut rows = Vec::new();
    for (d, &size) in config.dims.iter().enumerate() {
        if size == 1 {
            continue;
        }
        // The last node of a line has no link onwards.
        let line = config.mesh.get(d).copied().unwrap_or(false);
        let size = usize::from(size);
        let links = flits.len() / size * if line { size - 1 } else { size };
        for (port, sign) in [(2 * d, '+'), (2 * d + 1, '-')] {
            let all = flits
                .iter()
                .map(|node| node.get(port).copied().unwrap_or(0));
            let total: u64 = all.clone().sum();
            rows.push(json!({
                "direction": format!("{}{sign}", dimension_letter(d)),
                "flits": total,
                "mean_utilisation": total as f64 / (cycles.max(1) * links as u64) as f64,
                "max_utilisation": all.max().unwrap_or(0) as f64 / cycles.max(1) as f64,
            }));
        }
    }
    rows
}

/// The busiest outgoing link of every node, one character a node: rows are dimension b, planes and cubes
/// follow each other.
pub fn heat_map(config: &MachineConfig, flits: &[Vec<u64>], cycles: u64) -> String {
    let busiest: Vec<u64> = flits
        .iter()
        .map(|ports| ports.iter().copied().max().unwrap_or(0))
        .collect();
    let most = busiest.iter().copied().max().unwrap_or(0);
    if flits.len() > MAX_NODES || most == 0 {
        return format!(
            "busiest link: {:.4} of its cycles",
            most as f64 / cycles.max(1) as f64
        );
    }
    let width = usize::from(config.dims[0]);
    let height = config.dims.get(1).map_or(1, |&s| usize::from(s));
    let shade = |flits: u64| SHADES[(flits * (SHADES.len() as u64 - 1)).div_ceil(most) as usize];
    let mut text = format!(
        "busiest outgoing link of each node; {} is {:.4} of its cycles",
        SHADES[SHADES.len() - 1],
        most as f64 / cycles.max(1) as f64
    );
    let planes: Vec<&[u64]> = busiest.chunks(width * height).collect();
    // Planes stand side by side, as many as fit a terminal.
    let side = (72 / (2 * width + 3)).max(1);
    for group in planes.chunks(side) {
        for row in 0..height {
            text.push('\n');
            for plane in group {
                text.push_str("  ");
                for &flits in &plane[row * width..(row + 1) * width] {
                    text.push(shade(flits));
                    text.push(' ');
                }
            }
        }
        if height > 1 {
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_counts_the_links_that_exist() {
        let mut config = MachineConfig {
            dims: vec![4, 1, 1],
            ..MachineConfig::default()
        };
        // Every link up is busy in half of the cycles; on a line, three of them exist.
        for (line, busy) in [(false, 4), (true, 3)] {
            config.mesh = vec![line, false, false];
            let flits: Vec<Vec<u64>> = (0..4)
                .map(|node| vec![if node < busy { 50 } else { 0 }, 0, 0, 0, 0, 0])
                .collect();
            let rows = link_table(&config, &flits, 100);
            assert_eq!(rows.len(), 2);
            assert_eq!(rows[0]["mean_utilisation"], 0.5, "line: {line}");
            assert_eq!(rows[0]["max_utilisation"], 0.5);
            assert_eq!(rows[1]["flits"], 0);
        }
    }
}
