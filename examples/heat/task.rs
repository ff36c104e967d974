//! The messages: what each task does to have its neighbours' borders as its halo.
//!
//! A task grants its neighbours a memory region with a place for every face of its halo. In every step it
//! puts its borders into their regions (RPUT): the DMA engines move them, with no software at the target.
//! When a border is there, the sender tells so with an empty message. A task that has all six faces, and
//! whose own borders have arrived, takes its step.
//!
//! Two places for each face, used in turn, are enough: a neighbour sends the borders of step n + 2 only
//! after it has heard of ours of step n + 1, which we send only after we have used what it sent in step n.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::Process;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre_driver::{
    BufferRange, Client, Context, Endpoint, Error, MemoryRegion, Platform, PutNotify, Receive,
    RegionRights, RemoteRegion, Rput, SendImmediate, TaskId,
};
use parking_lot::Mutex;

use super::grid::{Block, Blocks, FACES, Field, opposite};

/// Dispatch identifier of messages with a region. Communication context: the face of the receiver.
const REGION: u8 = 1;
/// Dispatch identifier of messages that say that a face has arrived. Tag: the step.
const ARRIVED: u8 = 2;

/// Instructions that a step spends on a cell: loads, additions, a multiplication, a store.
const INSTRUCTIONS_PER_CELL: u64 = 16;
/// Instructions to move a cell between block and buffer.
const INSTRUCTIONS_PER_COPY: u64 = 2;

/// Bytes of a cell in memory.
const CELL: usize = size_of::<f64>();

/// What is solved.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// The grid and its blocks.
    pub blocks: Blocks,
    /// Steps to take.
    pub steps: u32,
    /// Step in which a bit of a halo cell of task 0 is flipped, to see whether the check notices.
    pub flip: Option<u32>,
}

/// First byte of a face in the halo region of `block`, in a step.
fn halo_offset(block: &Block, face: usize, step: u32) -> usize {
    let cells = |faces: std::ops::Range<usize>| faces.map(|f| block.face_cells(f)).sum::<usize>();
    CELL * (cells(FACES) * (step as usize % 2) + cells(0..face))
}

/// Bytes of the halo region of `block`.
fn halo_bytes(block: &Block) -> usize {
    halo_offset(block, 0, 0) + 2 * halo_offset(block, 0, 1)
}

/// What callbacks tell the task.
#[derive(Default)]
struct News {
    /// The neighbours' halo regions, by face.
    regions: Mutex<[Option<RemoteRegion>; 6]>,
    /// Faces that have arrived, in even and in odd steps.
    arrived: [AtomicCell<usize>; 2],
    /// Own borders that have arrived at the neighbours in this step.
    delivered: AtomicCell<usize>,
    failure: Mutex<Option<Error>>,
}

impl News {
    /// A border has arrived at the neighbour, or has not.
    fn border_done(
        &self,
        context: &Context<SimPlatform>,
        told: &SendImmediate<'_>,
        result: Result<(), Error>,
    ) {
        match result.and_then(|()| context.send_immediate(told)) {
            Ok(()) => {
                self.delivered.fetch_add(1);
            }
            Err(error) => *self.failure.lock() = Some(error),
        }
    }

    fn has_failed(&self) -> bool {
        self.failure.lock().is_some()
    }

    fn take_failure(&self) -> Result<(), Error> {
        self.failure.lock().take().map_or(Ok(()), Err)
    }
}

/// A task that is ready to hear from its neighbours.
pub struct Task {
    problem: Problem,
    block: Block,
    context: Context<SimPlatform>,
    neighbours: [Endpoint; 6],
    /// The halo, where the neighbours put it.
    halo: MemoryRegion<SimPlatform>,
    /// The borders, where the DMA engine reads them.
    borders: Vec<BufferRange<NodeBuffer>>,
    news: Arc<News>,
}

/// What a task has come to.
pub struct Solved {
    /// Its cells after the last step.
    pub cells: Vec<f64>,
    /// Beginning of its first step and end of its last, picoseconds.
    pub time_ps: (u64, u64),
}

impl Task {
    /// Opens a context and grants the memory of the halo.
    pub fn open(process: Process, problem: Problem) -> Result<Self, Error> {
        let platform = &process.platform;
        let client = Client::create(platform, process.client("heat"))?;
        let context = client.create_context(0)?;
        let block = problem.blocks.block(process.task.0);
        let memory = BufferRange::zeroed(platform, halo_bytes(&block))?;
        let rights = RegionRights {
            put: true,
            ..RegionRights::default()
        };
        let halo = client.create_region(&memory, rights)?;
        let border = |face| BufferRange::zeroed(platform, CELL * block.face_cells(face));
        let borders = FACES.map(border).collect::<Result<_, _>>()?;
        let place = problem.blocks.place(process.task.0);
        let mut neighbours = [context.endpoint(process.task, 0)?; 6];
        for face in FACES {
            let task = TaskId(problem.blocks.neighbour(place, face));
            neighbours[face] = context.endpoint(task, 0)?;
        }

        let news = Arc::new(News::default());
        let told = Arc::clone(&news);
        context.set_dispatch(
            REGION,
            Box::new(move |_, arrival| {
                let bytes = arrival.immediate.and_then(|data| data.try_into().ok());
                match RemoteRegion::decode(bytes.unwrap_or(&[0xff; RemoteRegion::BYTES])) {
                    Ok(region) => {
                        told.regions.lock()[usize::from(arrival.comm)] = Some(region);
                        Receive::Consumed
                    }
                    Err(error) => Receive::Refused(error.into()),
                }
            }),
        )?;
        let told = Arc::clone(&news);
        context.set_dispatch(
            ARRIVED,
            Box::new(move |_, arrival| {
                let arrived = &told.arrived[arrival.tag as usize % 2];
                arrived.fetch_add(1);
                Receive::Consumed
            }),
        )?;
        Ok(Self {
            problem,
            block,
            context,
            neighbours,
            halo,
            borders,
            news,
        })
    }

    /// Takes all steps.
    pub fn solve(self) -> Result<Solved, Error> {
        let regions = self.exchange_regions()?;
        let mut field = Field::initial(self.problem.blocks.grid, &self.block);
        let platform = self.context.platform();
        let began = platform.now_ps();
        for step in 0..self.problem.steps {
            self.exchange(step, &regions, &mut field)?;
            self.compute(INSTRUCTIONS_PER_CELL, self.block.cells());
            field.step();
        }
        let ended = platform.now_ps();
        // Nobody waits for us any more: our last words have left.
        self.context.advance_until(|| self.context.is_at_rest())?;
        self.halo.destroy()?;
        self.context.destroy()?;
        Ok(Solved {
            cells: field.values(),
            time_ps: (began, ended),
        })
    }

    /// Lets the time of a computation pass.
    fn compute(&self, instructions: u64, cells: usize) {
        let cpu = self.context.platform().cpu();
        cpu.charge_instructions(instructions * cells as u64);
    }

    /// Tells every neighbour where our halo is: theirs, by face.
    fn exchange_regions(&self) -> Result<Vec<RemoteRegion>, Error> {
        for face in FACES {
            self.context.send_immediate(&SendImmediate {
                comm: opposite(face) as u8,
                data: &self.halo.remote().encode(),
                ..SendImmediate::new(self.neighbours[face], REGION)
            })?;
        }
        let regions = &self.news.regions;
        self.context
            .advance_until(|| regions.lock().iter().all(Option::is_some))?;
        Ok(regions.lock().iter().copied().flatten().collect())
    }

    /// Puts the borders into the neighbours' halos, and takes the halo that they have put here.
    fn exchange(
        &self,
        step: u32,
        regions: &[RemoteRegion],
        field: &mut Field,
    ) -> Result<(), Error> {
        self.news.delivered.store(0);
        for face in FACES {
            self.put_border(step, face, regions[face], &field.border(face))?;
        }
        let (news, arrived) = (&self.news, &self.news.arrived[step as usize % 2]);
        self.context.advance_until(|| {
            let all = arrived.load() == FACES.len() && news.delivered.load() == FACES.len();
            all || news.has_failed()
        })?;
        news.take_failure()?;
        arrived.store(0);
        if self.problem.flip == Some(step) && self.context.task() == TaskId(0) {
            self.flip_a_bit(step)?;
        }
        for face in FACES {
            let mut bytes = vec![0; CELL * self.block.face_cells(face)];
            let at = halo_offset(&self.block, face, step);
            self.halo.range().read(at, &mut bytes)?;
            self.compute(INSTRUCTIONS_PER_COPY, self.block.face_cells(face));
            let (cells, _) = bytes.as_chunks();
            field.set_halo(face, cells.iter().map(|&cell| f64::from_le_bytes(cell)));
        }
        Ok(())
    }

    fn put_border(
        &self,
        step: u32,
        face: usize,
        region: RemoteRegion,
        cells: &[f64],
    ) -> Result<(), Error> {
        let destination = self.neighbours[face];
        let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        self.borders[face].write(0, &bytes)?;
        self.compute(INSTRUCTIONS_PER_COPY, cells.len());
        // Blocks are of different sizes: where the face is in the region depends on the neighbour's.
        let block = self.problem.blocks.block(destination.task().0);
        let news = Arc::clone(&self.news);
        self.context.rput(Rput {
            destination,
            data: self.borders[face].clone(),
            region,
            offset: halo_offset(&block, opposite(face), step) as u64,
            notify: PutNotify::None,
            local_done: None,
            remote_done: Some(Box::new(move |context, result| {
                let told = SendImmediate {
                    tag: step,
                    ..SendImmediate::new(destination, ARRIVED)
                };
                news.border_done(context, &told, result);
            })),
        })
    }

    /// What a fault of the memory would do: the first halo cell below the block in x is a little off.
    fn flip_a_bit(&self, step: u32) -> Result<(), Error> {
        let at = halo_offset(&self.block, 0, step);
        let mut cell = [0; CELL];
        self.halo.range().read(at, &mut cell)?;
        cell[5] ^= 1;
        Ok(self.halo.range().write(at, &cell)?)
    }
}
