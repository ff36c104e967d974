// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation and release of a geometry's routes on the collective network: `PAMI_GEOMETRY_OPTIMIZE`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use gyre_collectives::Done;
use gyre_driver::Instruction;
use parking_lot::Mutex;

use crate::abi::{self, AttributeName};
use crate::context::Context;
use crate::event::Event;
use crate::failure::Failure;
use crate::group::Group;
use crate::settings::passed_settings;

/// Settings of a geometry: whether it gets routes of the collective network, if set.
///
/// # Safety
/// `configuration` points to `count` settings.
pub unsafe fn settings(
    configuration: *const abi::Configuration,
    count: usize,
) -> Result<Option<bool>, Failure> {
    let mut optimize = None;
    // SAFETY: what the caller promises.
    for setting in unsafe { passed_settings(configuration, count)? } {
        // SAFETY: all members of the value are words, and this attribute's is a number.
        optimize = match (setting.name, unsafe { setting.value.intval }) {
            (AttributeName::GEOMETRY_OPTIMIZE, value) => Some(value != 0),
            (name, _) => {
                let text = format!("attribute {} cannot be set for a geometry", name.0);
                return Err(Failure::invalid(text));
            }
        };
    }
    Ok(optimize)
}

/// Lets the advance of a context call an event.
pub fn call_later(
    context: &Context,
    event: Event,
    outcome: Result<(), Failure>,
) -> Result<(), Failure> {
    let call = Instruction::Call(Box::new(move |_| event.end(outcome)));
    Ok(context.driver().post(call)?)
}

/// Joint end of an action of each endpoint of this task.
struct Together {
    left: AtomicUsize,
    first: Mutex<Option<Failure>>,
    event: Event,
    context: Weak<Context>,
}

impl Together {
    fn end(&self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.first.lock().get_or_insert(failure);
        }
        if self.left.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        let outcome = self.first.lock().take().map_or(Ok(()), Err);
        // A destroyed context calls nothing.
        if let Some(context) = self.context.upgrade() {
            let _ = call_later(&context, self.event, outcome);
        }
    }
}

/// Allocates or frees routes of the collective network; then the advance of `context` calls `event`.
pub fn update(
    context: &Weak<Context>,
    group: &Arc<Group>,
    optimize: bool,
    event: Event,
) -> Result<(), Failure> {
    let made = group.made()?;
    let together = Arc::new(Together {
        left: AtomicUsize::new(made.own()),
        first: Mutex::default(),
        event,
        context: context.clone(),
    });
    made.each(|member| {
        let routes = member.routes();
        if optimize == (routes.class || routes.barrier) {
            together.end(Ok(()));
            return Ok(());
        }
        let (this, group_there) = (Arc::clone(&together), Arc::clone(group));
        group.begin();
        let done: Done<_> = Box::new(move |_, result| {
            group_there.end();
            this.end(result.map_err(Failure::from));
        });
        let posted = match optimize {
            true => member.take_routes(Some(done)),
            false => member.release_routes(Some(done)),
        };
        posted.inspect_err(|_| group.end())?;
        Ok(())
    })
}

/// [`update`], whose failure is the event's.
pub fn begin_update(context: &Weak<Context>, group: &Arc<Group>, optimize: bool, event: Event) {
    if let Err(failure) = update(context, group, optimize, event) {
        event.end(Err(failure));
    }
}
