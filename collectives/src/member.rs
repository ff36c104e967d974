//! Members of geometries: where collectives are posted, and what carries them out (EP-4, EP-8, EP-9).

mod agreement;
mod arrive;
mod enter;
mod memory;
mod run;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use gyre_driver::{Context, Endpoint, Error as DriverError, Instruction, Platform};

use crate::algorithm::{Algorithm, Query};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::hardware::{Agreement, Hardware, RoutesTaken, Start, State};
use crate::header::{Header, Signature};
use crate::node::{Neighbours, NodeMemory, Sharing};
use crate::operation::Operation;
use crate::reduction::{DataType, ReduceOp};
use crate::request::{Collective, Request};

/// Called once when a collective has ended at a member, by the thread that advances its context.
pub type Done<P> = Box<dyn FnOnce(&Context<P>, Result<(), Error>)>;

/// Who posts a collective (EP-9). The others follow by their [`Member::on_call`] callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// Every endpoint of the geometry.
    All,
    /// The endpoints of the root task.
    Root,
    /// All endpoints but those of the root task.
    Others,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::All, Self::Root, Self::Others];
}

/// A collective that others have posted and this member is to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Position of the root.
    pub root: usize,
    /// Bytes of a block or of the combined vector, if all members know them.
    pub bytes: Option<usize>,
    /// Type of the data.
    pub data: DataType,
    /// How it is combined.
    pub op: ReduceOp,
}

/// What a member that follows brings along.
pub struct Follow<P: Platform> {
    /// The collective of the call, with the member's buffers.
    pub request: Request<P::Buffer>,
    /// Called when it has ended at this member.
    pub done: Option<Done<P>>,
}

/// Dispatch callback of collectives (EP-9): called by `advance` when the first message of a collective
/// arrives that this member has to follow. `None` refuses: the collective ends with an error at all members.
pub type FollowFn<P> = Box<dyn FnMut(&Context<P>, &Call) -> Option<Follow<P>>>;

/// Counts of a context's collectives so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Collectives that have ended.
    pub ended: u64,
    /// Messages sent, announcements included.
    pub messages: u64,
    /// Bytes of data sent or fetched from here.
    pub sent_bytes: u64,
    /// Messages whose data was dropped because another endpoint of the task has it.
    pub discarded: u64,
    /// Messages that arrived before their receive's turn.
    pub early: u64,
    /// Most bytes of data held in such messages at once.
    pub held_bytes: usize,
}

/// Collectives in one context. Clones are handles to the same.
pub struct Collectives<P: Platform> {
    context: Context<P>,
    shared: Rc<Shared<P>>,
}

impl<P: Platform> Clone for Collectives<P> {
    fn clone(&self) -> Self {
        Self {
            context: self.context.clone(),
            shared: Rc::clone(&self.shared),
        }
    }
}

/// The context's state of collectives. Only callbacks of `advance` change geometries and operations, and
/// callbacks of a context do not overlap; the borrow is never held across one of the user's.
struct Shared<P: Platform> {
    dispatch: u8,
    teams: RefCell<BTreeMap<u16, Team<P>>>,
    /// Agreements about routes in which this context acts for its node, by geometry and number.
    trees: RefCell<BTreeMap<(u16, u32), Agreement<P>>>,
    stats: Cell<Stats>,
    held: Cell<usize>,
    /// There is an alarm to look what waits on the tree.
    watching: Cell<bool>,
}

/// A geometry as one context knows it.
struct Team<P: Platform> {
    /// The geometry and this context's rank, once joined.
    joined: Option<(Geometry, u32)>,
    /// Number of the next collective.
    next: u32,
    running: BTreeMap<u32, Operation<P>>,
    /// Messages that nothing waits for yet, by collective.
    early: BTreeMap<u32, Vec<Early>>,
    /// Collectives that were given up, and by which rank: what still comes for them is dropped.
    failed: BTreeMap<u32, (u32, Signature)>,
    /// The last that have ended.
    ended: BTreeMap<u32, Signature>,
    follow: Option<FollowFn<P>>,
    /// Who shares nodes.
    neighbours: Rc<Neighbours>,
    /// The memory of the member's node, once a collective has used it.
    memory: Option<Rc<NodeMemory<P>>>,
    hardware: Hardware<P>,
}

impl<P: Platform> Default for Team<P> {
    fn default() -> Self {
        Self {
            joined: None,
            next: 0,
            running: BTreeMap::new(),
            early: BTreeMap::new(),
            failed: BTreeMap::new(),
            ended: BTreeMap::new(),
            follow: None,
            neighbours: Rc::default(),
            memory: None,
            hardware: Hardware::default(),
        }
    }
}

impl<P: Platform> Team<P> {
    /// Whether this member follows in a collective that others post.
    fn follows(&self, signature: &Signature) -> bool {
        let Some((geometry, rank)) = &self.joined else {
            return false;
        };
        let root = geometry.position(*rank) == signature.root as usize;
        match signature.way {
            Way::All => false,
            Way::Root => !root,
            Way::Others => root,
        }
    }

    /// Leaves out collectives that this member was to follow in, and that were given up before it could.
    fn skip_failed(&mut self) {
        while let Some((_, signature)) = self.failed.get(&self.next)
            && self.follows(signature)
        {
            self.next = self.next.wrapping_add(1);
        }
    }
}

/// A message before its time.
struct Early {
    header: Header,
    origin: Endpoint,
    data: Vec<u8>,
}

impl<P: Platform> Collectives<P> {
    /// Collectives in `context`, whose messages have dispatch identifier `dispatch` in all contexts. Do this
    /// before any other context starts a collective with this one.
    ///
    /// # Errors
    /// [`Error::Driver`] when the identifier is in use.
    pub fn attach(context: &Context<P>, dispatch: u8) -> Result<Self, Error> {
        let shared = Rc::new(Shared {
            dispatch,
            teams: RefCell::default(),
            trees: RefCell::default(),
            stats: Cell::default(),
            held: Cell::default(),
            watching: Cell::default(),
        });
        let this = Rc::clone(&shared);
        context.set_dispatch(
            dispatch,
            Box::new(move |context, arrival| this.arrive(context, arrival)),
        )?;
        let this = Rc::clone(&shared);
        context.add_progress(Box::new(move |context| this.look_in_memory(context)));
        Ok(Self {
            context: context.clone(),
            shared,
        })
    }

    /// Makes the context a member of a geometry.
    ///
    /// # Errors
    /// [`Error::NoMember`], [`Error::UnknownPlaces`], [`Error::NumberInUse`], [`Error::Driver`] for a task that is
    /// not in the list.
    pub fn join(&self, geometry: &Geometry) -> Result<Member<P>, Error> {
        let endpoint = self.context.query().endpoint;
        let Some(rank) = geometry.rank(endpoint) else {
            return Err(Error::NoMember {
                name: geometry.name().into(),
                task: endpoint.task(),
                context: endpoint.context_offset(),
            });
        };
        let tasks = self.context.tasks();
        let away =
            |e: &&Endpoint| tasks.place(e.task(), e.context_offset()) != tasks.location(e.task());
        if !geometry.knows_network() && geometry.endpoints().iter().any(|e| away(&e)) {
            return Err(Error::UnknownPlaces {
                name: geometry.name().into(),
            });
        }
        let neighbours = Neighbours::of(&self.context, geometry)?;
        let mut teams = self.shared.teams.borrow_mut();
        let team = teams.entry(geometry.number()).or_default();
        if team.joined.is_some() {
            return Err(Error::NumberInUse {
                number: geometry.number(),
            });
        }
        team.joined = Some((geometry.clone(), rank));
        team.neighbours = Rc::new(neighbours);
        Ok(Member {
            collectives: self.clone(),
            geometry: geometry.clone(),
            rank,
        })
    }

    /// Counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats.get()
    }
}

/// An endpoint's membership of a geometry.
pub struct Member<P: Platform> {
    collectives: Collectives<P>,
    geometry: Geometry,
    rank: u32,
}

impl<P: Platform> Member<P> {
    /// The geometry.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Rank of this endpoint.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Position of this endpoint's task.
    #[must_use]
    pub fn position(&self) -> usize {
        self.geometry.position(self.rank)
    }

    /// The endpoint's context.
    #[must_use]
    pub fn context(&self) -> &Context<P> {
        &self.collectives.context
    }

    /// The collectives of the context.
    #[must_use]
    pub fn collectives(&self) -> &Collectives<P> {
        &self.collectives
    }

    /// Sets the callback by which this member follows collectives that others post (EP-9). It replaces the
    /// one before.
    pub fn on_call(&self, follow: FollowFn<P>) {
        let mut teams = self.collectives.shared.teams.borrow_mut();
        teams.entry(self.geometry.number()).or_default().follow = Some(follow);
    }

    /// What the geometry has of the collective network at present.
    #[must_use]
    pub fn routes(&self) -> RoutesTaken {
        self.collectives.shared.taken(self.geometry.number())
    }

    /// How the endpoints of the geometry share nodes.
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        self.collectives.shared.sharing(self.geometry.number())
    }

    /// Takes a class route and a barrier route of the collective network for the geometry, as far as all
    /// nodes of its tree have some free (HW-9). All members post it, and in the same place among their
    /// collectives: those posted after it wait for its end. That needs a task on every node between those of
    /// the members, whose context 0 has [`Collectives`] attached and is advanced.
    ///
    /// `done` tells the end, and [`Member::routes`] what came of it: if nothing was left, nothing is taken,
    /// and that is no error. A member whose node could not be set up gets the error, and nobody any routes.
    ///
    /// # Errors
    /// [`Error::Driver`]; to `done` also [`Error::Routes`] when the geometry has routes.
    pub fn take_routes(&self, done: Option<Done<P>>) -> Result<(), Error> {
        let shared = Rc::clone(&self.collectives.shared);
        let number = self.geometry.number();
        self.call(move |context| {
            let later = Rc::clone(&shared);
            let take: Start<P> = Box::new(move |context| later.take_routes(context, number, done));
            shared.start(context, number, take);
        })
    }

    /// Gives the routes back. All members post it; collectives that each has posted before still use them,
    /// those after it do not. `done` is called when those of the member's node are free.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn release_routes(&self, done: Option<Done<P>>) -> Result<(), Error> {
        let shared = Rc::clone(&self.collectives.shared);
        let number = self.geometry.number();
        self.call(move |context| {
            let later = Rc::clone(&shared);
            let release: Start<P> =
                Box::new(move |context| later.release_routes(context, number, done));
            shared.start(context, number, release);
        })
    }

    /// Has `advance` call a function.
    fn call(&self, function: impl FnOnce(&Context<P>) + 'static) -> Result<(), Error> {
        let call = Instruction::Call(Box::new(function));
        Ok(self.collectives.context.post(call)?)
    }

    /// Posts a collective that every endpoint of the geometry posts. Do not change the send buffer, nor touch
    /// the receive buffer, before `done`.
    ///
    /// # Errors
    /// As [`Member::post_as`].
    pub fn post(&self, request: Request<P::Buffer>, done: Option<Done<P>>) -> Result<(), Error> {
        self.post_as(Way::All, None, request, done)
    }

    /// Posts a collective. `way` says who else does; `algorithm` names one of the geometry's list, or leaves
    /// the choice to `advance`. Both are the same at all members that post.
    ///
    /// # Errors
    /// [`Error::Request`], [`Error::Operation`], [`Error::Algorithm`], [`Error::Driver`].
    pub fn post_as(
        &self,
        way: Way,
        algorithm: Option<Algorithm>,
        request: Request<P::Buffer>,
        done: Option<Done<P>>,
    ) -> Result<(), Error> {
        let position = self.position();
        request.check(&self.geometry, position)?;
        let posts = match way {
            Way::All => true,
            Way::Root => position == request.root,
            Way::Others => position != request.root,
        };
        if !posts {
            return Err(Error::Request {
                geometry: self.geometry.name().into(),
                collective: request.collective.name(),
                field: "position of a caller",
                value: position as u64,
                expected: format!(
                    "the positions that {way:?} allows with root {}",
                    request.root
                ),
            });
        }
        if let Some(named) = algorithm {
            // Routes may be taken when its turn comes.
            let query = query(&self.geometry, &request, (RoutesTaken::ALL, self.sharing()));
            self.geometry.algorithms().choose(&query, Some(named))?;
        }
        let shared = Rc::clone(&self.collectives.shared);
        let geometry = self.geometry.clone();
        let number = geometry.number();
        let later = Rc::clone(&shared);
        let start: Start<P> = Box::new(move |context: &Context<P>| {
            // `advance` consults the list.
            let query = query(&geometry, &request, shared.network(number));
            match geometry.algorithms().choose(&query, algorithm) {
                Ok(algorithm) => {
                    let signature = signature(&request, algorithm, way);
                    shared.begin(context, number, signature, request, done);
                    shared.follow(context, number);
                }
                Err(error) => {
                    if let Some(done) = done {
                        done(context, Err(error));
                    }
                }
            }
        });
        self.call(move |context| later.start(context, number, start))
    }
}

impl<P: Platform> Shared<P> {
    /// Begins something on a geometry, or has it wait for the end of an agreement about routes.
    fn start(&self, context: &Context<P>, number: u16, start: Start<P>) {
        let start = {
            let mut teams = self.teams.borrow_mut();
            let hardware = &mut teams.entry(number).or_default().hardware;
            match hardware.state {
                State::Taking(_) => {
                    hardware.held.push(start);
                    None
                }
                _ => Some(start),
            }
        };
        if let Some(start) = start {
            start(context);
        }
    }

    /// What a geometry has of the collective network.
    fn taken(&self, number: u16) -> RoutesTaken {
        let teams = self.teams.borrow();
        teams
            .get(&number)
            .filter(|team| !team.hardware.broken)
            .map(|team| team.hardware.taken)
            .unwrap_or_default()
    }

    /// How the endpoints of a geometry share nodes.
    fn sharing(&self, number: u16) -> Sharing {
        let teams = self.teams.borrow();
        let team = teams.get(&number);
        team.map(|team| team.neighbours.sharing())
            .unwrap_or_default()
    }

    /// What queries say of the machine.
    fn network(&self, number: u16) -> (RoutesTaken, Sharing) {
        (self.taken(number), self.sharing(number))
    }

    /// A geometry that has been joined, and this context's rank.
    fn joined(&self, number: u16) -> Option<(Geometry, u32)> {
        self.teams.borrow().get(&number)?.joined.clone()
    }
}

fn query<'a, B: gyre_driver::DmaBuffer>(
    geometry: &'a Geometry,
    request: &Request<B>,
    (routes, sharing): (RoutesTaken, Sharing),
) -> Query<'a> {
    Query {
        geometry,
        collective: request.collective,
        root: request.root,
        bytes: request.bytes(),
        data: request.data,
        op: request.op,
        routes,
        sharing,
    }
}

fn signature<B: gyre_driver::DmaBuffer>(
    request: &Request<B>,
    algorithm: Algorithm,
    way: Way,
) -> Signature {
    Signature {
        collective: request.collective,
        algorithm,
        way,
        data: request.data,
        op: request.op,
        // A position, checked to be one.
        root: request.root as u32,
        bytes: request.bytes().map_or(u64::MAX, |bytes| bytes as u64),
    }
}

/// An error of the driver as `advance` reports it, where no done callback takes it.
fn wrong(origin: Endpoint, field: &'static str, value: u64, expected: &'static str) -> DriverError {
    DriverError::SystemMessage {
        origin: origin.task(),
        message: "message of a collective",
        field,
        value,
        expected,
    }
}
