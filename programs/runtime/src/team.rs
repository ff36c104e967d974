// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks of a job as members of a geometry: one thread for every endpoint (EP-7).

use std::rc::Rc;
use std::sync::Arc;

use gyre_collectives::{
    Algorithm, Collectives, Done, Error, Geometry, Initiator, Member, Request, RoutesTaken,
};
use gyre_driver::{Client, ClientConfig, Context, Endpoint, Platform as _, TaskId};
use gyre_sim::{ActorError, RunReport, SimError, Until};
use parking_lot::Mutex;

use crate::job::{Job, Process};
use crate::platform::{NodeBuffer, SimPlatform};

/// Dispatch identifier of the collectives.
const DISPATCH: u8 = 7;
/// Arity of trees along affinity domains.
const ARITY: usize = 4;

/// An endpoint, for its thread.
pub struct Seat {
    /// Its membership of the geometry.
    pub member: Member<SimPlatform>,
    /// Its context.
    pub context: Context<SimPlatform>,
}

impl Seat {
    /// Carries a collective out that all members post; returns the time of its end, picoseconds.
    ///
    /// # Errors
    /// As [`Member::post_as`], and those the collective ends with.
    pub fn carry_out(
        &self,
        algorithm: Option<Algorithm>,
        request: Request<NodeBuffer>,
    ) -> Result<u64, Error> {
        self.until_done(|done| {
            self.member
                .post_as(Initiator::All, algorithm, request, Some(done))
        })
    }

    /// Begins an operation that ends with a callback, and advances until then; returns the time of its end, picoseconds.
    ///
    /// # Errors
    /// Errors of `begin`, of the context, and of the operation.
    pub fn until_done(
        &self,
        begin: impl FnOnce(Done<SimPlatform>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let end = Arc::new(Mutex::new(None));
        let note = Arc::clone(&end);
        begin(Box::new(move |context, result| {
            *note.lock() = Some(result.map(|()| context.platform().now_ps()));
        }))?;
        self.context.advance_until(|| end.lock().is_some())?;
        let end = end.lock().take();
        end.unwrap_or(Ok(0))
    }
}

/// The endpoints of a geometry, on the machine.
pub struct Team {
    job: Job,
    /// Of every process, by context.
    seats: Rc<Vec<Vec<Seat>>>,
}

impl Team {
    /// Opens a client in every process of `job`, as `config` has it, and for each task as many contexts as
    /// `contexts` says, where the job's placement puts them; all of them become members of the geometry that consists of them.
    ///
    /// # Errors
    /// A client or geometry that is refused.
    pub fn open(
        mut job: Job,
        contexts: impl Fn(TaskId) -> u8 + 'static,
        config: impl Fn(ClientConfig) -> ClientConfig + 'static,
    ) -> Result<Self, SimError> {
        let place = |t| job.hardware_place(TaskId(t));
        let places: Option<Vec<_>> = (0..job.tasks()).map(place).collect();
        let open = move |process: Process| {
            let config = config(process.client("team"));
            let client = Client::create(&process.platform, config)?;
            let mut endpoints: Vec<Endpoint> = Vec::new();
            for task in (0..).map(TaskId).take(process.tasks.len()) {
                for context in 0..contexts(task) {
                    endpoints.push(client.endpoint(task, context)?);
                }
            }
            let mut geometry =
                Geometry::endpoint_list("team", 1, endpoints)?.on_network(&client)?;
            if let Some(places) = &places {
                geometry = geometry.with_places(ARITY, |task| places[task.0 as usize])?;
            }
            let here = process.tasks.process_of(process.task, client.node());
            let here = here.map_err(Error::from)?;
            let lives = |&c: &u8| process.tasks.place(process.task, c) == Ok(here);
            let seats = (0..contexts(process.task)).filter(lives).map(|context| {
                let context = client.create_context(context)?;
                let member = Collectives::attach(&context, DISPATCH)?.join(&geometry)?;
                Ok(Seat { member, context })
            });
            seats.collect::<Result<Vec<_>, Error>>()
        };
        let (seats, _) = job.each("opens its contexts", Until::Quiet, open)?;
        Ok(Self {
            job,
            seats: Rc::new(seats),
        })
    }

    /// The job.
    pub fn job(&mut self) -> &mut Job {
        &mut self.job
    }

    /// The endpoints of every process: tasks come first, then their parts on other nodes.
    pub fn seats(&self) -> &Rc<Vec<Vec<Seat>>> {
        &self.seats
    }

    /// Takes routes of the collective network for the geometry, and says what it got (HW-9).
    ///
    /// # Errors
    /// The first endpoint's error, or a machine that stopped.
    pub fn take_routes(&mut self) -> Result<RoutesTaken, SimError> {
        let (taken, _) = self.run("takes routes", |seat| {
            seat.until_done(|done| seat.member.take_routes(Some(done)))?;
            seat.context.advance_until(|| seat.context.is_at_rest())?;
            Ok::<_, Error>(seat.member.routes())
        })?;
        // The same at all members.
        Ok(taken.first().copied().unwrap_or_default())
    }

    /// Runs `body` in a thread for every endpoint. Gives what the threads returned, by process and context, and
    /// the machine's report.
    ///
    /// # Errors
    /// The first thread's error, or a machine that stopped.
    pub fn run<T, E>(
        &mut self,
        name: &str,
        body: impl Fn(&Seat) -> Result<T, E> + 'static,
    ) -> Result<(Vec<T>, RunReport), SimError>
    where
        T: 'static,
        E: Into<ActorError> + 'static,
    {
        let most = self.seats.iter().map(Vec::len).max().unwrap_or(0);
        let seats = Rc::clone(&self.seats);
        let body = move |process: Process, thread: usize| {
            let seat = seats[process.number].get(thread);
            seat.map(&body).transpose()
        };
        let (results, report) = self.job.threads(name, most, Until::Quiet, body)?;
        Ok((results.into_iter().flatten().collect(), report))
    }
}
