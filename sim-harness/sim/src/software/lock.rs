// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks and notifications between actors of a node.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use super::cpu::Cpu;
use super::wait::{ActorId, Signal, Wait, WakeReason};

type Waiters = RefCell<VecDeque<(ActorId, u64)>>;

/// A lock between actors of one node. Waiters get it in order.
#[derive(Clone)]
pub struct Lock {
    cpu: Cpu,
    owner: Rc<Cell<Option<ActorId>>>,
    waiters: Rc<Waiters>,
}

impl Lock {
    /// A free lock for actors of `cpu`'s node.
    pub fn new(cpu: &Cpu) -> Self {
        Self {
            cpu: cpu.clone(),
            owner: Rc::default(),
            waiters: Rc::default(),
        }
    }

    /// Waits for the lock and takes it.
    ///
    /// # Panics
    /// If the running actor holds it already: it would wait for ever.
    pub fn lock(&self) {
        let Some(actor) = self.cpu.synced() else {
            return;
        };
        match self.owner.get() {
            None => self.owner.set(Some(actor.id)),
            Some(owner) => {
                assert!(owner != actor.id, "actor {} locks twice", actor.name);
                let ticket = actor.new_ticket();
                self.waiters.borrow_mut().push_back((actor.id, ticket));
                // The one that unlocks makes this actor the owner.
                actor.suspend(Wait::Lock);
            }
        }
    }

    /// Takes the lock if it is free; whether it did.
    pub fn try_lock(&self) -> bool {
        let Some(actor) = self.cpu.synced() else {
            return true;
        };
        let free = self.owner.get().is_none();
        if free {
            self.owner.set(Some(actor.id));
        }
        free
    }

    /// Gives the lock to the next waiter, or frees it.
    ///
    /// # Panics
    /// If the running actor does not hold it.
    pub fn unlock(&self) {
        let Some(actor) = self.cpu.synced() else {
            return;
        };
        assert!(
            self.owner.get() == Some(actor.id),
            "actor {} unlocks what it does not hold",
            actor.name
        );
        let next = self.waiters.borrow_mut().pop_front();
        self.owner.set(next.map(|(id, _)| id));
        if let Some((id, ticket)) = next {
            let signal = Signal::By(actor.number);
            self.cpu
                .shared
                .resume_at(actor.node, id, ticket, actor.local_ps.get(), signal);
        }
    }
}

/// Lets actors of one node wait until another one has news for them.
#[derive(Clone)]
pub struct Notify {
    cpu: Cpu,
    waiters: Rc<Waiters>,
}

impl Notify {
    /// For actors of `cpu`'s node.
    pub fn new(cpu: &Cpu) -> Self {
        Self {
            cpu: cpu.clone(),
            waiters: Rc::default(),
        }
    }

    /// Waits for the next [`Notify::notify_all`], or until the deadline.
    pub fn wait(&self, deadline_ps: Option<u64>) -> WakeReason {
        let Some(actor) = self.cpu.synced() else {
            return WakeReason::Deadline;
        };
        let ticket = actor.new_ticket();
        self.waiters.borrow_mut().push_back((actor.id, ticket));
        let wait = Wait::Notify { deadline_ps };
        let reason = self
            .cpu
            .shared
            .wait_until(&actor, ticket, wait, deadline_ps);
        let own = (actor.id, ticket);
        self.waiters.borrow_mut().retain(|waiter| *waiter != own);
        reason
    }

    /// Wakes all that wait, at the running actor's time.
    pub fn notify_all(&self) {
        if let Some(actor) = self.cpu.synced() {
            let now = actor.local_ps.get();
            for (id, ticket) in self.waiters.borrow_mut().drain(..) {
                self.cpu
                    .shared
                    .resume_at(actor.node, id, ticket, now, Signal::By(actor.number));
            }
        }
    }
}
