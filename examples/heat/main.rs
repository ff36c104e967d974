// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heat in a box: the heat equation on a three-dimensional grid, a block of which lives in every task.
//!
//!     cargo run --release --example heat -- --shape 2x2x2 --set grid=24x16x16
//!
//! In every step each task puts the border of its block into the memory of its six neighbours and then
//! computes. The grid is a torus like the machine, so that every link has its share. At the end all cells
//! must be equal, bit by bit, to those of a serial solver. `--set flip=STEP` shows what happens if not.
//!
//! - `grid.rs`: the grid, its blocks, and the arithmetic
//! - `task.rs`: the messages of a task
//! - this file: settings, check and report

mod grid;
mod task;

use gyre::prelude::*;

use grid::{Blocks, FACES, Grid, Triple};
use task::{Problem, Solved, solve};

const GRID: Setting<Grid> = Setting::choice(
    "grid",
    Grid([16; 3]),
    "three sizes from 1 to 256, such as 24x16x16",
    "cells in each dimension",
);
const STEPS: Setting<u32> =
    Setting::number("steps", "", 20, (1, 100_000), "steps of the computation");
const FLIP: Setting<u32> = Setting {
    key: "flip",
    about: "step in which one bit of a halo cell of task 0 is flipped, for the check to find",
    unit: "",
    default: Unless::Words("none"),
    values: Values::Such(|_| true, "a step from 0 to the last"),
};

/// The program: its name, what it does, the shape of its machine, and the function that runs it.
pub const PROGRAM: Program = Program::new(
    "heat",
    "The heat equation in three dimensions, borders exchanged by RPUT",
    &[2; 3],
    run,
)
.with_settings(&[&GRID, &STEPS, &FLIP]);

fn main() -> ExitCode {
    PROGRAM.main()
}

fn run(launch: &Launch<'_>) -> Result<Report, RunError> {
    let problem = problem(launch)?;
    let (solved, report) = launch.run(move |task| solve(task, problem))?;

    let blocks = problem.blocks;
    let cells = assemble(&blocks, &solved);
    let serial = blocks.grid.serial(problem.steps);
    let began = solved.iter().map(|task| task.time_ps.0).min().unwrap_or(0);
    let ended = solved.iter().map(|task| task.time_ps.1).max().unwrap_or(0);
    let cycles = (ended - began).div_ceil(launch.spec().config.cycle_ps);
    let sizes = (0..solved.len() as u32).map(|task| blocks.block(task));
    let border: usize = sizes
        .clone()
        .flat_map(|block| FACES.map(move |face| block.face_cells(face)))
        .sum();
    Ok(report
        .param("grid", text(blocks.grid.0))
        .param("steps", problem.steps)
        .param("flip", problem.flip)
        .metric("blocks", text(blocks.parts))
        .metric(
            "smallest_block_cells",
            sizes.clone().map(|b| b.cells()).min(),
        )
        .metric("largest_block_cells", sizes.map(|b| b.cells()).max())
        .metric("halo_bytes_per_step", border * size_of::<f64>())
        .metric("cycles", cycles)
        .metric("cycles_per_step", cycles as f64 / f64::from(problem.steps))
        .check(compare(&blocks, &cells, &serial))
        .picture(slice(blocks.grid, &cells)))
}

/// Problem that the settings ask for on the machine of `launch`.
fn problem(launch: &Launch<'_>) -> Result<Problem, UsageError> {
    // Tasks of a node are neighbours in x; dimensions beyond the third lengthen z.
    let mut parts = [launch.tasks_per_node(), 1, 1];
    for (d, &size) in launch.spec().config.dims.iter().enumerate() {
        parts[d.min(2)] *= usize::from(size);
    }
    let grid = launch.get(&GRID);
    if (0..3).any(|d| grid.0[d] < parts[d]) {
        let expected = format!("at least {}, a cell for each task", text(parts));
        return Err(GRID.refuse(grid, expected));
    }
    let steps = launch.get(&STEPS);
    let flip = launch.given(&FLIP);
    match flip {
        Some(flip) if flip >= steps => {
            Err(FLIP.refuse(flip, format!("a step from 0 to {}", steps - 1)))
        }
        _ => Ok(Problem {
            blocks: Blocks { grid, parts },
            steps,
            flip,
        }),
    }
}

fn text([x, y, z]: Triple) -> String {
    format!("{x}x{y}x{z}")
}

/// The whole grid from the blocks of all tasks.
fn assemble(blocks: &Blocks, solved: &[Solved]) -> Vec<f64> {
    let mut cells = vec![f64::NAN; blocks.grid.cells()];
    for (task, solved) in (0..).zip(solved) {
        for (place, &cell) in blocks.block(task).places().zip(&solved.cells) {
            cells[blocks.grid.index(place)] = cell;
        }
    }
    cells
}

/// Compares every bit with the serial solver: says how many cells differ, and the first of them.
fn compare(blocks: &Blocks, found: &[f64], serial: &[f64]) -> Result<(), String> {
    let differs = |index: usize| found[index].to_bits() != serial[index].to_bits();
    let wrong = (0..serial.len()).filter(|&index| differs(index)).count();
    let tasks = blocks.parts.iter().product::<usize>() as u32;
    let places = (0..tasks).flat_map(|task| {
        let places = blocks.block(task).places();
        places.map(move |place| (task, place))
    });
    for (task, place) in places {
        let index = blocks.grid.index(place);
        if differs(index) {
            let [x, y, z] = place;
            let (found, expected) = (found[index], serial[index]);
            return Err(format!(
                "{wrong} of {} cells differ; cell ({x}, {y}, {z}) of task {task} is {found} ({:#018x}), \
                 expected {expected} ({:#018x})",
                serial.len(),
                found.to_bits(),
                expected.to_bits()
            ));
        }
    }
    Ok(())
}

/// Shades from cold to hot.
const SHADES: [char; 6] = [' ', '·', '░', '▒', '▓', '█'];
/// Most cells in a line of the picture.
const WIDTH: usize = 64;

/// The temperatures half way up in z: x to the right, y down.
fn slice(grid: Grid, cells: &[f64]) -> String {
    let [nx, ny, nz] = grid.0;
    // Of a wide grid, every second or third cell.
    let stride = nx.max(ny).div_ceil(WIDTH);
    let z = nz / 2;
    let row = |y| (0..nx).map(move |x| cells[grid.index([x, y, z])]);
    let all = || (0..ny).flat_map(row);
    let (cold, hot) = (
        all().fold(f64::MAX, f64::min),
        all().fold(f64::MIN, f64::max),
    );
    let last = SHADES.len() - 1;
    let shade = |cell: f64| {
        let share = (cell - cold) / (hot - cold).max(f64::MIN_POSITIVE);
        SHADES[(share * last as f64).round() as usize]
    };
    let mut picture = format!("z = {z}: from {cold:.1} to {hot:.1} ({})", SHADES[last]);
    for y in (0..ny).step_by(stride) {
        // Two characters a cell are about square.
        let cells = row(y).step_by(stride);
        let line: String = cells.flat_map(|cell| [shade(cell); 2]).collect();
        picture.push_str(&format!("\n  {}", line.trim_end()));
    }
    picture
}
