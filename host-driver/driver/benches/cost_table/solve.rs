// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bounded least squares: from counts and charges to costs of operations.

use gyre_driver::Op;

const OPS: usize = Op::ALL.len();
/// Fewest instructions of an operation.
const LEAST: f64 = 1.0;

/// One use of the driver.
pub struct Row {
    pub name: String,
    /// Whether it is one of the equations.
    pub fits: bool,
    /// Instructions counted.
    pub instructions: f64,
    /// Operations charged, in the order of [`Op::ALL`].
    pub charged: [f64; OPS],
}

impl Row {
    /// Instructions by costs.
    pub fn with(&self, costs: &[f64; OPS]) -> f64 {
        self.charged
            .iter()
            .zip(costs)
            .map(|(n, cost)| n * cost)
            .sum()
    }
}

/// The costs with the least sum of squared relative errors, in whole instructions. The problem is convex, so
/// going down along one coordinate after the other ends at its minimum.
///
/// # Errors
/// An operation that no row has.
pub fn solve(rows: &[Row]) -> Result<[u32; OPS], String> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.fits).collect();
    for (index, op) in Op::ALL.into_iter().enumerate() {
        if rows.iter().all(|row| row.charged[index] == 0.0) {
            return Err(format!("no scenario charges {op:?}"));
        }
    }
    let mut costs = [LEAST; OPS];
    loop {
        let mut moved = 0.0_f64;
        for index in 0..OPS {
            let (mut slope, mut square) = (0.0, 0.0);
            for row in &rows {
                let weight = row.charged[index] / row.instructions;
                slope += weight * (1.0 - row.with(&costs) / row.instructions);
                square += weight * weight;
            }
            let cost = (costs[index] + slope / square).max(LEAST);
            moved = moved.max((cost - costs[index]).abs());
            costs[index] = cost;
        }
        if moved < 1e-6 {
            // Costs are far below 2^32.
            return Ok(costs.map(|cost| cost.round() as u32));
        }
    }
}
