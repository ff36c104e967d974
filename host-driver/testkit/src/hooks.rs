// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other threads of a node on the test's own host thread: closures that run where another thread would.

use fragile::Fragile;
use gyre_driver::Op;
use parking_lot::Mutex;

type AtCharge = Box<dyn FnMut(Op)>;
type Asleep = Box<dyn FnOnce()>;

/// The hooks of a machine. They run on the host thread that set them, and nowhere else.
#[derive(Default)]
pub(crate) struct Hooks {
    at_charge: Mutex<Option<Fragile<AtCharge>>>,
    asleep: Mutex<Option<Fragile<Asleep>>>,
}

impl Hooks {
    /// Sets or clears the hook that runs at every charge.
    pub fn set_at_charge(&self, hook: Option<AtCharge>) {
        *self.at_charge.lock() = hook.map(Fragile::new);
    }

    /// Sets the hook that runs once when a thread sleeps and nothing moves.
    pub fn set_asleep(&self, hook: Asleep) {
        *self.asleep.lock() = Some(Fragile::new(hook));
    }

    /// A charge: its hook runs, but not inside itself.
    pub fn charge(&self, op: Op) {
        let Some(mut hook) = take(&self.at_charge) else {
            return;
        };
        hook.get_mut()(op);
        *self.at_charge.lock() = Some(hook);
    }

    /// A thread sleeps and nothing moves: says whether its hook has run.
    pub fn sleep(&self) -> bool {
        let Some(hook) = take(&self.asleep) else {
            return false;
        };
        hook.into_inner()();
        true
    }
}

/// Takes a hook that this host thread has set.
fn take<T>(hook: &Mutex<Option<Fragile<T>>>) -> Option<Fragile<T>> {
    hook.lock().take_if(|hook| hook.is_valid())
}
