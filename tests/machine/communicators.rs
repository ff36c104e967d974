// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators on the Verilated machine: what a short matched message takes, by the number of its communicator and by
//! its group (CT-1).

use std::error::Error;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre_driver::{
    BufferRange, Client, Communicator, Context, CostTable, Messaging, MessagingConfig, Op,
    Platform, TaskId,
};
use gyre_sim::{MachineConfig, Until};

type Failure = Box<dyn Error>;
type Module = Messaging<SimPlatform>;

const DISPATCH: u8 = 1;
/// Messages each way, after one that is not counted.
const ROUNDS: u64 = 16;
/// A cycle of the machine, ps.
const CYCLE: u64 = 2000;

/// Posts a receive of `bytes` bytes from the other of two tasks, which counts in `come`.
fn receive(
    module: &Module,
    comm: &Communicator,
    bytes: usize,
    come: &Arc<AtomicCell<u64>>,
) -> Result<(), Failure> {
    let into = BufferRange::zeroed(module.context().platform(), bytes)?;
    let come = Arc::clone(come);
    let done = move |_: &Context<_>, result: Result<_, _>| {
        let _: gyre_driver::matching::Received = result.expect("received");
        come.fetch_add(1);
    };
    module.receive(None, Some(3), comm, into, Some(Box::new(done)))?;
    Ok(())
}

/// Cycles of half a round trip of `bytes` bytes, in a communicator that `comm` makes.
fn half_round_trip(
    bytes: usize,
    comm: impl Fn(&Module) -> Result<Communicator, gyre_driver::Error> + Clone + 'static,
) -> Result<u64, Failure> {
    let config = MachineConfig {
        dims: vec![2],
        ..MachineConfig::default()
    };
    let placement = Placement::filled(1, &config.dims)?;
    let mut job = Job::new(&config, &CostTable::default(), &placement, None)?;
    let open = |process: Process| -> Result<Module, Failure> {
        let client = Client::create(&process.platform, process.client("matched"))?;
        let context = client.create_context(0)?;
        Ok(Messaging::create(&context, MessagingConfig::new(DISPATCH))?)
    };
    let (modules, _) = job.each("opens", Until::Done, open)?;
    let run = move |process: Process, module: Module| -> Result<u64, Failure> {
        let comm = comm(&module)?;
        let first = process.task == TaskId(0);
        let peer = comm.rank(TaskId(u32::from(first))).ok_or("a member")?;
        let data = BufferRange::zeroed(&process.platform, bytes)?;
        let come = Arc::new(AtomicCell::new(0));
        let mut start = 0;
        receive(&module, &comm, bytes, &come)?;
        for round in 0..=ROUNDS {
            if round == 1 {
                start = process.platform.now_ps();
            }
            let send = || module.send(peer, 3, &comm, data.clone(), None);
            if first {
                send()?;
            }
            module.context().advance_until(|| come.load() > round)?;
            if round < ROUNDS {
                receive(&module, &comm, bytes, &come)?;
            }
            if !first {
                send()?;
            }
        }
        let took = process.platform.now_ps() - start;
        module
            .context()
            .advance_until(|| module.context().is_at_rest())?;
        Ok(took / (2 * ROUNDS * CYCLE))
    };
    let (took, _) = job.each_with("plays", Until::Quiet, modules, run)?;
    Ok(took[0])
}

#[test]
fn ct1_a_communicator_adds_at_most_the_bytes_of_its_number() -> Result<(), Failure> {
    let members = [TaskId(1), TaskId(0)];
    for bytes in [0, 8, 64, 480] {
        let world = half_round_trip(bytes, |_| Ok(Communicator::WORLD))?;
        let group = half_round_trip(bytes, move |module| module.register(7, &members))?;
        let wide = half_round_trip(bytes, move |module| module.register(u32::MAX, &members))?;
        // The number's 4 bytes as data: a message of none is not even read from memory.
        let longer = half_round_trip(bytes + 4, |_| Ok(Communicator::WORLD))?;
        println!("{bytes} B: world {world}, group {group}, wide {wide}, longer {longer} cycles");
        assert_eq!(group, world, "{bytes} B");
        // The origin copies the data twice to put the number before them.
        let chunks = 2 * (bytes as u64 + 4).div_ceil(32);
        let costs = CostTable::default();
        let copies = 2 * costs.instructions(Op::Copy) + chunks * costs.instructions(Op::CopyChunk);
        let copies = copies * MachineConfig::default().cpu_ps / CYCLE;
        assert!(
            wide <= longer + copies + 3,
            "{bytes} B: {wide}, {longer} with 4 B more"
        );
    }
    Ok(())
}
