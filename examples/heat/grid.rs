// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers: the grid, its blocks, a step of the solver, and the serial solver that checks it.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Sizes or a place in x, y and z; x varies fastest in memory.
pub type Triple = [usize; 3];

/// Faces of a block: below and above in x, in y, in z.
pub const FACES: Range<usize> = 0..6;

/// The face by which the neighbour at `face` sees us.
pub const fn opposite(face: usize) -> usize {
    face ^ 1
}

/// Share of the difference to its neighbours that a cell gains in a step; stable up to 1/6.
const DIFFUSION: f64 = 0.1;

/// Temperature of a cell after a step. The order of additions is fixed: the last bit depends on it.
fn after_step(cell: f64, [x0, x1, y0, y1, z0, z1]: [f64; 6]) -> f64 {
    cell + DIFFUSION * (x0 + x1 + y0 + y1 + z0 + z1 - 6.0 * cell)
}

/// The whole grid, a torus itself: its last cell in each dimension is beside the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct Grid(pub Triple);

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x}x{y}x{z}")
    }
}

impl FromStr for Grid {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let sizes: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
        match *sizes.map_err(|_| ())? {
            [x, y, z] if [x, y, z].iter().all(|n| (1..=Self::LONGEST).contains(n)) => {
                Ok(Self([x, y, z]))
            }
            _ => Err(()),
        }
    }
}

impl Grid {
    /// Most cells in a dimension.
    pub const LONGEST: usize = 256;

    /// Number of cells.
    pub fn cells(self) -> usize {
        self.0.iter().product()
    }

    /// Number of the cell at `place` in the grid's memory.
    pub fn index(self, [x, y, z]: Triple) -> usize {
        x + self.0[0] * (y + self.0[1] * z)
    }

    /// Temperature at the beginning: a hot ball, which reaches across the edge of the grid in x.
    pub fn initial(self, place: Triple) -> f64 {
        let centre = [0, self.0[1] / 2, self.0[2] / 2];
        let distance = (0..3).map(|d| {
            let apart = place[d].abs_diff(centre[d]);
            apart.min(self.0[d] - apart) as f64 / self.0[d] as f64
        });
        let hot = distance.map(|part| part * part).sum::<f64>() < 1.0 / 12.0;
        if hot { 100.0 } else { 20.0 }
    }

    /// Every cell after `steps` steps, one after the other in one memory.
    pub fn serial(self, steps: u32) -> Vec<f64> {
        let [nx, ny, nz] = self.0;
        let places = || (0..nz).flat_map(move |z| (0..ny).map(move |y| (y, z)));
        let places = || places().flat_map(move |(y, z)| (0..nx).map(move |x| [x, y, z]));
        let mut cells: Vec<f64> = places().map(|place| self.initial(place)).collect();
        for _ in 0..steps {
            let at = |place| cells[self.index(place)];
            let next = places().map(|[x, y, z]| {
                let neighbours = [
                    at([(x + nx - 1) % nx, y, z]),
                    at([(x + 1) % nx, y, z]),
                    at([x, (y + ny - 1) % ny, z]),
                    at([x, (y + 1) % ny, z]),
                    at([x, y, (z + nz - 1) % nz]),
                    at([x, y, (z + 1) % nz]),
                ];
                after_step(at([x, y, z]), neighbours)
            });
            cells = next.collect();
        }
        cells
    }
}

/// The grid cut into blocks, one a task. Sizes of blocks differ by at most one in each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// The grid.
    pub grid: Grid,
    /// Blocks in each dimension.
    pub parts: Triple,
}

impl Blocks {
    /// Where the block of `task` is among the blocks: x varies fastest.
    pub fn place(&self, task: u32) -> Triple {
        let [px, py, _] = self.parts;
        let task = task as usize;
        [task % px, task / px % py, task / px / py]
    }

    /// The task whose block is at `face` of the block at `place`; on a short ring that may be the same.
    pub fn neighbour(&self, place: Triple, face: usize) -> u32 {
        let mut there = place;
        let parts = self.parts[face / 2];
        let step = if face.is_multiple_of(2) { parts - 1 } else { 1 };
        there[face / 2] = (place[face / 2] + step) % parts;
        (there[0] + self.parts[0] * (there[1] + self.parts[1] * there[2])) as u32
    }

    /// The block of `task`.
    pub fn block(&self, task: u32) -> Block {
        let place = self.place(task);
        let cut = |d: usize, n: usize| n * self.grid.0[d] / self.parts[d];
        let start = [0, 1, 2].map(|d| cut(d, place[d]));
        Block {
            start,
            size: [0, 1, 2].map(|d| cut(d, place[d] + 1) - start[d]),
        }
    }
}

/// The cells of one task.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Place of its first cell in the grid.
    pub start: Triple,
    /// Cells in each dimension.
    pub size: Triple,
}

impl Block {
    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.size.iter().product()
    }

    /// Cells of a face.
    pub fn face_cells(&self, face: usize) -> usize {
        self.cells() / self.size[face / 2]
    }

    /// Places of the block's cells in the grid.
    pub fn places(&self) -> impl Iterator<Item = Triple> + use<> {
        let [x, y, z] = [0, 1, 2].map(|d| self.start[d]..self.start[d] + self.size[d]);
        box_places([x, y, z])
    }
}

fn box_places([x, y, z]: [Range<usize>; 3]) -> impl Iterator<Item = Triple> {
    z.flat_map(move |z| {
        let x = x.clone();
        y.clone()
            .flat_map(move |y| x.clone().map(move |x| [x, y, z]))
    })
}

/// The temperatures of a block, with a layer of halo cells around it: what the neighbours' borders were.
pub struct Field {
    size: Triple,
    cells: Vec<f64>,
}

impl Field {
    /// The temperatures of `block` at the beginning.
    pub fn initial(grid: Grid, block: &Block) -> Self {
        let size = block.size;
        let mut field = Self {
            size,
            cells: vec![0.0; size.iter().map(|n| n + 2).product()],
        };
        for place in block.places() {
            // Its own cells begin behind the halo, at 1.
            let inside = [0, 1, 2].map(|d| place[d] - block.start[d] + 1);
            let index = field.index(inside);
            field.cells[index] = grid.initial(place);
        }
        field
    }

    fn index(&self, [x, y, z]: Triple) -> usize {
        x + (self.size[0] + 2) * (y + (self.size[1] + 2) * z)
    }

    fn inside(&self) -> impl Iterator<Item = Triple> + use<> {
        box_places(self.size.map(|n| 1..n + 1))
    }

    /// Places of the layer of a face that is at `low` or, for an upper face, at `high`.
    fn layer(&self, face: usize, low: usize, high: usize) -> impl Iterator<Item = Triple> + use<> {
        let mut ranges = self.size.map(|n| 1..n + 1);
        let at = if face.is_multiple_of(2) { low } else { high };
        ranges[face / 2] = at..at + 1;
        box_places(ranges)
    }

    /// The block's own cells at a face.
    pub fn border(&self, face: usize) -> Vec<f64> {
        self.layer(face, 1, self.size[face / 2])
            .map(|place| self.cells[self.index(place)])
            .collect()
    }

    /// Sets the halo cells beyond a face.
    pub fn set_halo(&mut self, face: usize, values: impl IntoIterator<Item = f64>) {
        let layer = self.layer(face, 0, self.size[face / 2] + 1);
        for (place, value) in layer.zip(values) {
            let index = self.index(place);
            self.cells[index] = value;
        }
    }

    /// One step of every cell. The halo must be that of this step.
    pub fn step(&mut self) {
        let mut next = self.cells.clone();
        for [x, y, z] in self.inside() {
            let at = |place| self.cells[self.index(place)];
            let neighbours = [
                at([x - 1, y, z]),
                at([x + 1, y, z]),
                at([x, y - 1, z]),
                at([x, y + 1, z]),
                at([x, y, z - 1]),
                at([x, y, z + 1]),
            ];
            next[self.index([x, y, z])] = after_step(at([x, y, z]), neighbours);
        }
        self.cells = next;
    }

    /// The block's own cells.
    pub fn values(&self) -> Vec<f64> {
        self.inside()
            .map(|place| self.cells[self.index(place)])
            .collect()
    }
}
