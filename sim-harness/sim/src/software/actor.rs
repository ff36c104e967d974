// SPDX-License-Identifier: MIT OR Apache-2.0
//! Software on the simulated clock: blocking code in stackful coroutines.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::wait::{ActorId, Signal, Wait};
use crate::error::{ActorError, BusError};

/// The part of an actor that it shares with the machine while it runs.
pub(super) struct ActorState {
    pub(super) id: ActorId,
    pub(super) node: usize,
    pub(super) name: String,
    /// The actor's own time; may be ahead of its node's until it touches something shared.
    pub(super) local_ps: Cell<u64>,
    /// Counts waits. A resume event for an older one is stale.
    pub(super) ticket: Cell<u64>,
    pub(super) wait: Cell<Wait>,
    pub(super) description: RefCell<String>,
    /// Its number among the actors that its node has had.
    pub(super) number: u32,
    /// Task that it belongs to, if it belongs to one.
    pub(super) task: Cell<Option<u32>>,
    /// Hardware thread that it runs on, if that is known.
    pub(super) hardware_thread: Cell<Option<usize>>,
    /// Posted register writes that are not answered.
    pub(super) posted: Cell<u32>,
    /// First refused posted write that was not reported.
    pub(super) posted_error: Cell<Option<BusError>>,
    /// Set by the coroutine when it starts, dereferenced in `suspend` only.
    yielder: Cell<*const Yielder<Signal, ()>>,
}

impl ActorState {
    /// Gives control back to the machine until a resume event with the current ticket.
    ///
    /// Must be called by the running actor for itself: nobody else has its state from
    /// [`Shared::running`](super::shared::Shared::running).
    pub(super) fn suspend(&self, wait: Wait) -> Signal {
        self.wait.set(wait);
        // SAFETY: `self` is the running actor, so the pointer was set when its coroutine started, and
        // the `Yielder` it points to lives on the coroutine's stack until its function returns, which
        // it cannot have while it runs this call. Everything is on one thread (`Rc`, raw pointer).
        let signal = unsafe { (*self.yielder.get()).suspend(()) };
        self.wait.set(Wait::Ready);
        signal
    }

    /// Starts a new wait and returns its ticket.
    pub(super) fn new_ticket(&self) -> u64 {
        self.ticket.set(self.ticket.get() + 1);
        self.ticket.get()
    }
}

/// An actor with its stack.
pub(super) struct Actor {
    pub(super) state: Rc<ActorState>,
    /// None if there was no memory for its stack.
    coroutine: Option<Coroutine<Signal, (), Result<(), ActorError>>>,
}

/// Bytes of the stack of an actor.
const STACK: usize = 1 << 20;

impl Actor {
    /// An actor, with its node and its number there, whose time is `start_ps`, and which waits for its first turn.
    pub(super) fn new(
        id: ActorId,
        (node, number): (usize, u32),
        name: &str,
        start_ps: u64,
        body: impl FnOnce() -> Result<(), ActorError> + 'static,
    ) -> Self {
        let state = Rc::new(ActorState {
            id,
            node,
            name: name.to_owned(),
            local_ps: Cell::new(start_ps),
            ticket: Cell::new(0),
            wait: Cell::new(Wait::Ready),
            description: RefCell::default(),
            number,
            task: Cell::new(None),
            hardware_thread: Cell::new(None),
            posted: Cell::new(0),
            posted_error: Cell::new(None),
            yielder: Cell::new(std::ptr::null()),
        });
        let own = Rc::clone(&state);
        let coroutine = DefaultStack::new(STACK).ok().map(|stack| {
            Coroutine::with_stack(stack, move |yielder: &Yielder<Signal, ()>, _: Signal| {
                own.yielder.set(yielder);
                body()
            })
        });
        Self { state, coroutine }
    }

    /// Runs the actor until it waits. Returns its result when it ends.
    pub(super) fn resume(&mut self, signal: Signal) -> Option<Result<(), ActorError>> {
        let Some(coroutine) = &mut self.coroutine else {
            self.state.wait.set(Wait::Finished);
            let text = format!("no memory for a stack of {} KiB", STACK >> 10);
            return Some(Err(text.into()));
        };
        match coroutine.resume(signal) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(result) => {
                self.state.wait.set(Wait::Finished);
                Some(result)
            }
        }
    }
}
