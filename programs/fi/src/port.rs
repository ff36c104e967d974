// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of an endpoint for its callbacks and queues.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use gyre_collectives::Collectives;
use gyre_driver::{COPY_CHUNK, Context, Endpoint, Op, Platform as _, PlatformLock as _};
use gyre_interpose::asleep::Asleep;
use gyre_interpose::idle_polls::{IdlePolls, Polled};
use gyre_note::ProgramStep;
use gyre_remote::{RemoteLock, RemotePlatform};
use parking_lot::Mutex;

use crate::abi::{ADDR_UNSPEC, Addr, flags};
use crate::av::AddressVector;
use crate::boundary::Refusal;
use crate::cntr::Counter;
use crate::cq::{Completion, Queue};
use crate::matcher::{Matcher, Source};
use crate::node::Node;
use crate::progress::Progress;
use crate::steps::Step;
use crate::unanswered::Unanswered;

/// Polls without a result of a thread that waits, after which it sleeps until an event.
const IDLE_POLLS: u32 = 8;

/// First time after which it looks again, picoseconds: it may wait for what happens within its process. Each is twice as long as
/// the one before, up to this many times; none for several endpoints, of which only one wakes the thread.
const FIRST_SLEEP_PS: u64 = 1_000_000;
const DOUBLINGS: u32 = 6;

/// Completion queue and counter of a kind of operation.
#[derive(Clone, Default)]
pub struct Bound {
    /// The completion queue.
    pub queue: Option<Arc<Queue>>,
    /// Whether only operations that ask for it are reported there.
    pub selective: bool,
    /// The counter.
    pub counter: Option<Arc<Counter>>,
}

/// Objects that an endpoint is bound to.
#[derive(Clone, Default)]
pub struct Bindings {
    /// The address vector.
    pub addresses: Option<Arc<AddressVector>>,
    /// Sends.
    pub sends: Bound,
    /// Receives.
    pub receives: Bound,
    /// One-sided reads.
    pub reads: Bound,
    /// One-sided writes.
    pub writes: Bound,
}

/// An endpoint.
pub struct Port {
    /// The process's part of its node.
    pub node: Arc<Node>,
    /// The driver's context.
    pub context: Context<RemotePlatform>,
    /// Objects that it is bound to, once it is enabled.
    pub bindings: OnceLock<Bindings>,
    /// Default flags of sends and one-sided operations.
    pub send_flags: u64,
    /// Default flags of receives.
    pub receive_flags: u64,
    /// Receives and messages, untagged and tagged.
    pub matchers: [Mutex<Matcher>; 2],
    /// Free bytes below which a multi-receive buffer takes no more messages.
    pub least_room: AtomicUsize,
    /// The driver's collectives, on context 0.
    pub collectives: OnceLock<Collectives<RemotePlatform>>,
    /// Short writes that the targets have not answered.
    pub unanswered: Unanswered,
    /// Number of the last send or receive, for traces.
    number: AtomicU32,
    /// Held by the thread that advances the context.
    lock: RemoteLock,
    /// Polls without a result, in a row, of threads that wait.
    idle: AtomicU32,
    /// Those of threads that test or probe.
    idle_polls: IdlePolls,
}

impl Port {
    /// An endpoint on a context of the node.
    pub fn new(node: Arc<Node>, send_flags: u64, receive_flags: u64) -> Result<Self, Refusal> {
        Ok(Self {
            context: node.take()?,
            lock: node.job.platform.new_lock(),
            node,
            bindings: OnceLock::new(),
            send_flags,
            receive_flags,
            matchers: Default::default(),
            least_room: AtomicUsize::new(64),
            collectives: OnceLock::new(),
            unanswered: Unanswered::default(),
            number: AtomicU32::new(0),
            idle: AtomicU32::new(0),
            idle_polls: IdlePolls::default(),
        })
    }

    /// The machine.
    pub fn platform(&self) -> &'static RemotePlatform {
        &self.node.job.platform
    }

    /// A step of the program here.
    pub fn step(&self, step: ProgramStep) -> Step {
        let endpoint = self.context.query().endpoint;
        let at = gyre_note::Context {
            task: endpoint.task().0,
            client: self.node.client(),
            offset: endpoint.context_offset(),
        };
        Step::new(at, step)
    }

    /// Number of the next send or receive, for traces.
    pub fn next_number(&self) -> u32 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    /// Free bytes below which a multi-receive buffer takes no more messages.
    pub fn least_room(&self) -> usize {
        self.least_room.load(Ordering::Relaxed)
    }

    /// Objects that it is bound to.
    ///
    /// # Errors
    /// `FI_EOPBADSTATE` before it is enabled.
    pub fn bound(&self) -> Result<&Bindings, Refusal> {
        let bound = self.bindings.get();
        bound.ok_or(Refusal(crate::abi::errno::BAD_STATE))
    }

    /// The endpoint at an index of the address vector.
    ///
    /// # Errors
    /// `FI_EINVAL` if there is none.
    pub fn peer(&self, place: Addr) -> Result<Endpoint, Refusal> {
        let addresses = self.bound()?.addresses.as_ref();
        let (task, context) = addresses
            .and_then(|addresses| addresses.name(place))
            .ok_or(Refusal::INVALID)?;
        Ok(self.context.endpoint(task, context)?)
    }

    /// Source of a receive at an index, or any.
    pub fn source(&self, place: Addr) -> Result<Option<Source>, Refusal> {
        if place == ADDR_UNSPEC {
            return Ok(None);
        }
        let addresses = self.bound()?.addresses.as_ref();
        let name = addresses.and_then(|addresses| addresses.name(place));
        name.map(Some).ok_or(Refusal::INVALID)
    }

    /// Index of an endpoint in the address vector.
    pub fn place(&self, source: Source) -> Addr {
        let addresses = self
            .bindings
            .get()
            .and_then(|bound| bound.addresses.as_ref());
        addresses.map_or(ADDR_UNSPEC, |addresses| addresses.place(source))
    }

    /// Reports the end of an operation to the program if it wants that, which `wants` says for an operation with flags.
    pub fn complete(&self, bound: &Bound, wants: bool, completion: Completion) {
        if let Some(counter) = &bound.counter {
            counter.count(completion.error.is_none());
        }
        let told = wants || !bound.selective || completion.error.is_some();
        if told && let Some(queue) = &bound.queue {
            queue.add(completion);
        }
    }

    /// Reports the end of a receive.
    pub fn received(&self, wants: bool, completion: Completion) {
        if let Some(bound) = self.bindings.get() {
            self.complete(&bound.receives, wants, completion);
        }
    }

    /// Whether the program has not taken all completions.
    pub fn has_completions(&self) -> bool {
        let Some(bound) = self.bindings.get() else {
            return false;
        };
        let all = [&bound.sends, &bound.receives, &bound.reads, &bound.writes];
        let queues = all.into_iter().filter_map(|bound| bound.queue.as_ref());
        queues.into_iter().any(|queue| queue.has_some())
    }

    /// Whether a receive waits for a message, or an operation has not ended.
    fn expects(&self) -> bool {
        !self.context.is_at_rest() || self.matchers.iter().any(|one| one.lock().expects())
    }

    /// Charges a copy of this many bytes.
    pub fn charge_copy(&self, bytes: usize) {
        let chunks = bytes.div_ceil(COPY_CHUNK) as u64;
        self.platform().charge(Op::CopyChunk, chunks);
    }

    /// Charges comparisons with entries of a queue.
    pub fn charge_matching(&self, attempts: u64, enqueued: bool) {
        self.platform().charge(Op::MatchAttempt, attempts);
        if enqueued {
            self.platform().charge(Op::Enqueue, 1);
        }
    }
}

impl Progress for Port {
    fn advance(&self, looks: usize) -> Result<bool, Refusal> {
        // Collectives are waited for outside of MPICH, which lets one thread at a time use the endpoint.
        self.lock.lock();
        let advanced = self.context.advance(looks);
        self.lock.unlock();
        let idle = advanced?.is_idle();
        if !idle {
            self.idle.store(0, Ordering::Relaxed);
        }
        Ok(idle)
    }

    fn look(&self) -> Result<bool, Refusal> {
        Ok(!self.idle_polls.poll(self)?)
    }

    fn rest(&self, alone: bool) -> Result<(), Refusal> {
        let idle = self.idle.fetch_add(1, Ordering::Relaxed);
        let Some(many) = idle.checked_sub(IDLE_POLLS) else {
            return Ok(());
        };
        let doublings = if alone { many.min(DOUBLINGS) } else { 0 };
        let epoch = self.context.epoch();
        self.wait(epoch, self.now_ps() + (FIRST_SLEEP_PS << doublings))
    }

    fn now_ps(&self) -> u64 {
        self.platform().now_ps()
    }
}

impl Polled for Port {
    type Error = Refusal;

    fn epoch(&self) -> u64 {
        self.context.epoch()
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn look(&self) -> Result<bool, Refusal> {
        Ok(!self.advance(1)?)
    }

    fn wait(&self, epoch: u64, deadline_ps: u64) -> Result<(), Refusal> {
        if !self.expects() {
            // MPICH may be busy within the process: only polls that wait for the network count.
            self.platform().stay_awake();
        }
        let context = self.context.clone();
        let _asleep = Asleep::begin(move || context.wake());
        self.context.wait_since(epoch, Some(deadline_ps))?;
        Ok(())
    }
}

/// Flags by which an operation asks for a completion.
pub fn wants_completion(flags: u64) -> bool {
    flags & flags::COMPLETION != 0
}
