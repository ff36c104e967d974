// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages: what each task does to have its neighbours' borders as its halo.
//!
//! A task grants its neighbours a memory region with a place for every face of its halo. In every step it
//! puts its borders into their regions (RPUT): the DMA engines move them, with no software at the target.
//! When a border is there, the sender tells so with an empty message. A task that has all six faces, and
//! whose own borders have arrived, takes its step.
//!
//! Two places for each face, used in turn, are enough: a neighbour sends the borders of step n + 2 only
//! after it has heard of ours of step n + 1, which we send only after we have used what it sent in step n.

use gyre::prelude::*;

use super::grid::{Block, Blocks, FACES, Field, opposite};

/// Dispatch identifier of messages with a region. Communication context: the face of the receiver.
const REGION: u8 = 1;
/// Dispatch identifiers of messages that say that a face has arrived, in even and in odd steps: a neighbour may be a step
/// ahead.
const ARRIVED: [u8; 2] = [2, 3];

/// Instructions that a step spends on a cell: loads, additions, a multiplication, a store.
const INSTRUCTIONS_PER_CELL: u64 = 16;
/// Instructions to move a cell between block and buffer.
const INSTRUCTIONS_PER_COPY: u64 = 2;

/// The problem.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// The grid and its blocks.
    pub blocks: Blocks,
    /// Steps to take.
    pub steps: u32,
    /// Step in which a bit of a halo cell of task 0 is flipped, to see whether the check notices.
    pub flip: Option<u32>,
}

/// First cell of a face in the halo region of `block`, in a step.
fn halo_offset(block: &Block, face: usize, step: u32) -> usize {
    let cells = |faces: std::ops::Range<usize>| faces.map(|f| block.face_cells(f)).sum::<usize>();
    cells(FACES) * (step as usize % 2) + cells(0..face)
}

/// Result of a task.
pub struct Solved {
    /// Its cells after the last step.
    pub cells: Vec<f64>,
    /// Beginning of its first step and end of its last, picoseconds.
    pub time_ps: (u64, u64),
}

/// Takes all steps of a task's block.
pub fn solve(task: &Task, problem: Problem) -> TaskResult<Solved> {
    let (context, platform) = (task.context(), task.platform());
    let block = problem.blocks.block(task.id().0);
    let halo = Slice::zeroed(platform, 2 * halo_offset(&block, 0, 1))?;
    let rights = RegionRights {
        put: true,
        ..RegionRights::default()
    };
    let region = task.client().create_region(halo.range(), rights)?;
    let [even, odd] = ARRIVED.map(|id| Inbox::create(context, id));
    let exchange = Exchange {
        task,
        problem,
        block,
        halo,
        arrived: [even?, odd?],
        neighbours: neighbours(task, &problem, &region)?,
    };
    let mut field = Field::initial(problem.blocks.grid, &block);
    let began = platform.now_ps();
    for step in 0..problem.steps {
        exchange.run(step, &mut field)?;
        task.compute(INSTRUCTIONS_PER_CELL * block.cells() as u64);
        field.step();
    }
    let ended = platform.now_ps();
    // Nobody puts into the halo any more: the neighbours have heard that theirs has arrived.
    context.advance_until(|| context.is_at_rest())?;
    region.destroy()?;
    Ok(Solved {
        cells: field.values(),
        time_ps: (began, ended),
    })
}

/// A neighbour of a task.
struct Neighbour {
    endpoint: Endpoint,
    /// Its halo.
    region: RemoteRegion,
    /// The border that it gets, where the DMA engine reads it.
    border: Slice<f64>,
}

/// Tells every neighbour where our halo is, and hears where theirs are: the neighbours, by face.
fn neighbours(task: &Task, problem: &Problem, region: &MemoryRegion) -> TaskResult<Vec<Neighbour>> {
    let context = task.context();
    let inbox = Inbox::create(context, REGION)?;
    let place = problem.blocks.place(task.id().0);
    for face in FACES {
        let neighbour = TaskId(problem.blocks.neighbour(place, face));
        context.send_immediate(&SendImmediate {
            comm: opposite(face) as u8,
            data: &region.remote().encode(),
            ..SendImmediate::new(context.endpoint(neighbour, 0)?, REGION)
        })?;
    }
    let mut told = inbox.take(FACES.len())?;
    told.sort_by_key(|message| message.comm);
    let block = problem.blocks.block(task.id().0);
    let neighbour = |(face, message): (usize, Message)| {
        Ok(Neighbour {
            endpoint: message.origin,
            region: RemoteRegion::decode(message.data[..].try_into()?)?,
            border: Slice::zeroed(task.platform(), block.face_cells(face))?,
        })
    };
    FACES.zip(told).map(neighbour).collect()
}

/// Halos that a task exchanges with its neighbours in every step.
struct Exchange<'a> {
    task: &'a Task,
    problem: Problem,
    block: Block,
    /// The halo, where the neighbours put it.
    halo: Slice<f64>,
    /// Messages that say that faces have arrived, in even and in odd steps.
    arrived: [Inbox; 2],
    /// By face.
    neighbours: Vec<Neighbour>,
}

impl Exchange<'_> {
    /// Puts the borders into the neighbours' halos, and takes the halo that they have put here.
    fn run(&self, step: u32, field: &mut Field) -> TaskResult<()> {
        let delivered = Completion::new();
        for face in FACES {
            self.put_border(step, face, &field.border(face), &delivered)?;
        }
        self.arrived[step as usize % 2].take(FACES.len())?;
        delivered.wait(self.task.context())?;
        if self.problem.flip == Some(step) && self.task.id() == TaskId(0) {
            self.flip_a_bit(step)?;
        }
        for face in FACES {
            let cells = self.face(face, step)?.to_vec()?;
            self.task
                .compute(INSTRUCTIONS_PER_COPY * cells.len() as u64);
            field.set_halo(face, cells);
        }
        Ok(())
    }

    /// The halo cells of a face in a step.
    fn face(&self, face: usize, step: u32) -> TaskResult<Slice<f64>> {
        let first = halo_offset(&self.block, face, step);
        Ok(self.halo.part(first, self.block.face_cells(face))?)
    }

    /// Puts a border into a neighbour's halo. When it is there the neighbour is told, and `delivered` completes.
    fn put_border(
        &self,
        step: u32,
        face: usize,
        cells: &[f64],
        delivered: &Completion,
    ) -> TaskResult<()> {
        let neighbour = &self.neighbours[face];
        neighbour.border.write(0, cells)?;
        self.task
            .compute(INSTRUCTIONS_PER_COPY * cells.len() as u64);
        // Blocks are of different sizes: where the face is in the region depends on the neighbour's.
        let block = self.problem.blocks.block(neighbour.endpoint.task().0);
        let offset = size_of::<f64>() * halo_offset(&block, opposite(face), step);
        let arrived = SendImmediate::new(neighbour.endpoint, ARRIVED[step as usize % 2]);
        let done = delivered.callback();
        let border = neighbour.border.range().clone();
        let put = Rput {
            offset: offset as u64,
            remote_done: Some(Box::new(move |context, result| {
                done(
                    context,
                    result.and_then(|()| context.send_immediate(&arrived)),
                );
            })),
            ..Rput::new(neighbour.endpoint, border, neighbour.region)
        };
        Ok(self.task.context().rput(put)?)
    }

    /// Plants a fault of the memory: the first halo cell below the block in x is a little off.
    fn flip_a_bit(&self, step: u32) -> TaskResult<()> {
        let cell = self.face(0, step)?.part(0, 1)?;
        let flipped = |cell: f64| f64::from_bits(cell.to_bits() ^ 1 << 40);
        let cells: Vec<_> = cell.to_vec()?.into_iter().map(flipped).collect();
        Ok(cell.write(0, &cells)?)
    }
}
