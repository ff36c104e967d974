// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members that do not agree on the hardware's tree get errors and wait for nothing; the geometry gives its routes
//! back, takes new ones and goes on (HW-5, EP-4).

use gyre::job::Job;
use gyre::placement::Placement;
use gyre::platform::NodeBuffer;
use gyre::team::{Seat, Team};
use gyre_collectives::{Algorithm, DataType, Error, ReduceOp, Request};
use gyre_driver::{BufferRange, CostTable, Error as DriverError};
use gyre_sim::MachineConfig;

const TASKS: usize = 5;
const DIMS: [u16; 3] = [5, 1, 1];

fn team() -> Team {
    let config = MachineConfig {
        dims: DIMS.to_vec(),
        ..MachineConfig::default()
    };
    let placement = Placement::filled(1, &DIMS).expect("there is room");
    let job = Job::new(&config, &CostTable::default(), &placement, None).expect("a machine");
    Team::open(job, |_| 1, |client| client).expect("all contexts open")
}

/// The post of a member.
#[derive(Clone, Copy)]
enum Call {
    Barrier,
    Sum { count: usize },
    Max { count: usize },
    Broadcast { root: usize, bytes: usize },
}

impl Call {
    fn request(self, seat: &Seat) -> Result<Request<NodeBuffer>, Error> {
        let buffer = |bytes| {
            let range = BufferRange::zeroed(seat.context.platform(), bytes);
            range.map_err(|error| Error::from(DriverError::from(error)))
        };
        let combined = |op, count: usize| {
            let kind = (DataType::U64, op);
            Ok(Request::allreduce(kind, None, buffer(count * 8)?))
        };
        match self {
            Self::Barrier => Ok(Request::barrier()),
            Self::Sum { count } => combined(ReduceOp::Sum, count),
            Self::Max { count } => combined(ReduceOp::Max, count),
            Self::Broadcast { root, bytes } => Ok(Request::broadcast(root, buffer(bytes)?)),
        }
    }
}

/// The sum of positions on the tree, at this member.
fn sum_of_positions(seat: &Seat) -> Result<u64, Error> {
    let own = (seat.member.position() as u64).to_le_bytes();
    let range = BufferRange::copied(seat.context.platform(), &own)?;
    let kind = (DataType::U64, ReduceOp::Sum);
    let request = Request::allreduce(kind, None, range.clone());
    seat.carry_out(Some(Algorithm::Tree), request)?;
    let mut sum = [0; 8];
    range.read(0, &mut sum).map_err(DriverError::from)?;
    Ok(u64::from_le_bytes(sum))
}

/// All post `theirs`, but one `own`.
fn disagree(odd: usize, own: Call, theirs: Call) {
    let mut team = team();
    let taken = team.take_routes().expect("agreed");
    assert!(taken.class && taken.barrier);
    let run = move |seat: &Seat| {
        let me = seat.member.position();
        let total: usize = (0..TASKS).sum();
        assert_eq!(sum_of_positions(seat)?, total as u64);
        let call = if me == odd { own } else { theirs };
        let result = seat.carry_out(Some(Algorithm::Tree), call.request(seat)?);
        let disagrees = matches!(
            result,
            Err(Error::Disagreement { .. } | Error::GivenUp { .. })
        );
        assert!(disagrees, "{result:?} at {me}");
        // What the routes hold is in the way: nothing goes there before they have been given back.
        let refused = seat.carry_out(Some(Algorithm::Tree), Request::barrier());
        assert!(
            matches!(refused, Err(Error::Algorithm { .. })),
            "{refused:?} at {me}"
        );
        let by_messages = Algorithm::Dissemination;
        seat.carry_out(Some(by_messages), Request::barrier())?;
        seat.until_done(|done| seat.member.release_routes(Some(done)))?;
        seat.carry_out(Some(by_messages), Request::barrier())?;
        seat.until_done(|done| seat.member.take_routes(Some(done)))?;
        assert_eq!(sum_of_positions(seat)?, total as u64);
        seat.carry_out(Some(Algorithm::Tree), Request::barrier())?;
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(())
    };
    team.run("disagreement", run).expect("the program ends");
}

#[test]
fn hw5_ep4_a_barrier_where_the_others_reduce_is_an_error_at_all_members() {
    disagree(3, Call::Barrier, Call::Sum { count: 40 });
}

#[test]
fn hw5_ep4_another_operation_or_length_fails_all_members() {
    disagree(4, Call::Max { count: 40 }, Call::Sum { count: 40 });
    disagree(1, Call::Sum { count: 41 }, Call::Sum { count: 40 });
    disagree(0, Call::Sum { count: 900 }, Call::Sum { count: 901 });
}

#[test]
fn hw5_ep4_another_root_of_a_broadcast_fails_all_members() {
    let broadcast = |root| Call::Broadcast { root, bytes: 4000 };
    // No member sends.
    disagree(2, broadcast(1), broadcast(2));
}
