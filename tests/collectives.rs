//! Collectives on the machine: tasks on its nodes, several endpoints in some of them.

use std::cell::Cell;
use std::rc::Rc;

use gyre::job::Job;
use gyre::placement::Placement;
use gyre::platform::NodeBuffer;
use gyre::team::{Seat, Team};
use gyre_collectives::{Algorithm, Collective, DataType, Error, Query, ReduceOp, Request, Way};
use gyre_driver::{BufferRange, CostTable, TaskId};
use gyre_sim::MachineConfig;

type Range = BufferRange<NodeBuffer>;

/// Endpoints of a task: three in task 1, two in task 4, one in the others.
fn contexts(task: TaskId) -> u8 {
    match task.0 {
        1 => 3,
        4 => 2,
        _ => 1,
    }
}

fn team() -> Team {
    let config = MachineConfig {
        dims: vec![3, 2, 1],
        ..MachineConfig::default()
    };
    // Task 6 lives beside task 0.
    let placement = Placement::new(7, &config.dims, Some("tcba")).expect("seven tasks");
    let job = Job::new(&config, &CostTable::default(), &placement, None).expect("a machine");
    let open = |client| gyre_driver::ClientConfig {
        contexts: 3,
        ..client
    };
    Team::open(job, contexts, open).expect("all contexts open")
}

fn pattern(seed: usize, length: usize) -> Vec<u8> {
    let byte = |i| (seed * 89 + i * 7 + i / 251 + 1) as u8;
    (0..length).map(byte).collect()
}

fn contents(range: &Range) -> Vec<u8> {
    let mut bytes = vec![0; range.len()];
    range.read(0, &mut bytes).expect("inside");
    bytes
}

/// Posts and advances until it has ended and nothing is left.
fn carry_out(
    seat: &Seat,
    algorithm: Option<Algorithm>,
    request: Request<NodeBuffer>,
) -> Result<(), Error> {
    let ended = Rc::new(Cell::new(false));
    let flag = Rc::clone(&ended);
    let done = move |_: &_, result: Result<(), Error>| {
        result.expect("all members agree");
        flag.set(true);
    };
    seat.member
        .post_as(Way::All, algorithm, request, Some(Box::new(done)))?;
    seat.context.advance_until(|| ended.get())?;
    Ok(())
}

/// Algorithms of a collective that are valid on the seat's geometry.
fn algorithms(seat: &Seat, collective: Collective, root: usize, bytes: usize) -> Vec<Algorithm> {
    let geometry = seat.member.geometry();
    let query = Query {
        geometry,
        collective,
        root,
        bytes: Some(bytes),
        data: DataType::U8,
        op: ReduceOp::BitXor,
    };
    let list = geometry.algorithms().list(collective).iter();
    let mut valid: Vec<_> = list
        .filter(|e| e.is_valid(&query))
        .map(|e| e.algorithm)
        .collect();
    valid.sort();
    valid.dedup();
    valid
}

#[test]
fn ep10_ep13_broadcast_and_barrier_on_the_machine() {
    let mut team = team();
    let buffers: Vec<_> = team
        .seats()
        .iter()
        .map(|task| {
            let platform = task[0].context.platform();
            BufferRange::zeroed(platform, 9000).expect("there is memory")
        })
        .collect();
    let (_, _report) = team
        .run("broadcasts", move |seat| {
            let me = seat.member.position();
            for (root, bytes) in [(0, 9000), (1, 9000), (4, 700), (5, 3), (1, 0)] {
                for algorithm in algorithms(seat, Collective::Broadcast, root, bytes) {
                    let part = buffers[me]
                        .part(0, bytes)
                        .map_err(gyre_driver::Error::from)?;
                    let data = pattern(root * 9 + bytes + algorithm as usize, bytes);
                    if me == root {
                        part.write(0, &data).map_err(gyre_driver::Error::from)?;
                    }
                    carry_out(seat, None, Request::barrier())?;
                    carry_out(
                        seat,
                        Some(algorithm),
                        Request::broadcast(root, part.clone()),
                    )?;
                    assert_eq!(contents(&part), data, "{algorithm:?} from {root} to {me}");
                    carry_out(seat, None, Request::barrier())?;
                }
            }
            seat.context.advance_until(|| seat.context.is_at_rest())?;
            Ok::<(), Error>(())
        })
        .expect("the program ends");
}
