// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of a program as protocols call them.

use gyre_note::Note;

use crate::am::dispatch::{Arrival, Receive};
use crate::api::context::{CallFn, Calls, Context, DoneFn, Work};
use crate::attention::Reason;
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::error::{Error, Fault};
use crate::operation::{DeferredId, Instruction};
use crate::platform::Platform;
use crate::progress::Progress;
use crate::rma::notify::PutArrival;
use crate::sync::{Ordering, lock};
use crate::upcalls::Upcalls;

/// The functions of a program during a turn of `advance`, with the counts of the turn.
pub(super) struct Callbacks<'a, P: Platform> {
    context: &'a Context<P>,
    calls: &'a mut Calls<P>,
    progress: Progress,
    /// Done callbacks wait for the next turn: a thread of the program posts.
    at_post: bool,
}

impl<'a, P: Platform> Callbacks<'a, P> {
    /// The functions for a turn that begins.
    pub fn new(context: &'a Context<P>, calls: &'a mut Calls<P>) -> Self {
        Self {
            context,
            calls,
            progress: Progress::default(),
            at_post: false,
        }
    }

    /// The functions for an instruction that starts at its post.
    pub fn at_post(context: &'a Context<P>, calls: &'a mut Calls<P>) -> Self {
        Self {
            at_post: true,
            ..Self::new(context, calls)
        }
    }

    /// Counts of the turn.
    pub fn counts(&self) -> Progress {
        self.progress
    }

    /// Runs a callback of cost `op`, during which the context may not be advanced.
    fn callback<R>(&mut self, op: Op, call: impl FnOnce(&Context<P>) -> R) -> R {
        charged(self.context, &mut self.progress, op, call)
    }

    /// Calls all done callbacks of a destroyed context.
    pub fn abandon(&mut self) {
        let left = lock(&self.context.shared().queue).done.take_all();
        for done in left {
            self.callback(Op::Callback, |context| {
                done.call(context, Err(Error::Destroyed));
            });
        }
        // After the operations: their owners may have registered these functions.
        let functions = core::mem::take(&mut *lock(&self.context.shared().at_destroy));
        for function in functions {
            guarded(self.context, function);
        }
    }

    /// Calls the functions whose time has come and the modules with completions to deliver, and takes new functions for
    /// every turn.
    #[inline(never)] // Keeps the turn short.
    fn call_what_is_new(&mut self) {
        while let Some(function) = self.context.take_alarm() {
            self.callback(Op::Callback, function);
        }
        let attention = &self.context.core().attention;
        if attention.has(Reason::Ending) {
            self.context.take_ends(&mut self.calls.ends);
            while let Some(ends) = self.calls.ends.pop_front() {
                self.callback(Op::Callback, |context| ends.end_next(context));
            }
        }
        if attention.has(Reason::NewEveryTurn) {
            attention.clear(Reason::NewEveryTurn);
            let new = &self.context.shared().progress;
            self.calls.progress.append(&mut lock(new));
        }
    }
}

/// Runs a callback of cost `op`.
#[inline(always)]
fn charged<P: Platform, R>(
    context: &Context<P>,
    progress: &mut Progress,
    op: Op,
    call: impl FnOnce(&Context<P>) -> R,
) -> R {
    progress.callbacks += 1;
    context.platform().charge(op, 1);
    guarded(context, call)
}

/// Runs a function during which the context may not be advanced.
pub(super) fn guarded<P: Platform, R>(
    context: &Context<P>,
    call: impl FnOnce(&Context<P>) -> R,
) -> R {
    let flag = &context.shared().in_callback;
    flag.store(true, Ordering::Release);
    let result = call(context);
    flag.store(false, Ordering::Release);
    result
}

impl<P: Platform> Upcalls<P> for Callbacks<'_, P> {
    type Done = DoneFn<P>;
    type Call = CallFn<P>;

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn tick(&mut self) {
        let new = [Reason::Alarm, Reason::NewEveryTurn, Reason::Ending];
        if self.context.core().attention.has_any(new) {
            self.call_what_is_new();
        }
        for function in &mut self.calls.progress {
            let found = guarded(self.context, function);
            self.progress.callbacks += usize::from(found);
        }
    }

    fn has_work(&self) -> bool {
        self.context.has_work()
    }

    fn take_work(&mut self) -> Result<(), Fault> {
        self.context.take_work(&mut self.calls.work)
    }

    fn next_work(&mut self) -> Option<Work<P>> {
        let next = self.calls.work.pop_front();
        if next.is_none() {
            self.context.core().attention.clear(Reason::Working);
        }
        next
    }

    fn call(&mut self, call: CallFn<P>) {
        self.callback(Op::Callback, call);
    }

    #[inline(always)] // Every message comes here.
    fn dispatch(
        &mut self,
        id: u8,
        arrival: &Arrival<'_>,
    ) -> Option<Receive<P, DoneId, DeferredId>> {
        let shared = self.context.shared();
        let function = self.calls.dispatch.find(id, &shared.dispatch)?;
        let call = |context: &Context<P>| {
            function(context, arrival).map(
                |done| lock(&shared.queue).done.insert(done.into()),
                |keep| context.defer(keep),
            )
        };
        Some(charged(
            self.context,
            &mut self.progress,
            Op::Dispatch,
            call,
        ))
    }

    fn put(&mut self, id: u8, arrival: &PutArrival) -> bool {
        let shared = self.context.shared();
        let Some(function) = self.calls.puts.find(id, &shared.puts) else {
            return false;
        };
        let call = |context: &Context<P>| function(context, arrival);
        charged(self.context, &mut self.progress, Op::Dispatch, call);
        true
    }

    fn done(&mut self, done: DoneId, result: Result<(), Error>) -> bool {
        let taken = lock(&self.context.shared().queue).done.take(done);
        let Some(done) = taken else {
            return false;
        };
        let failed = result.is_err();
        self.context
            .core()
            .note(|at| Note::Completed { at, failed });
        if self.at_post {
            let call: CallFn<P> = Box::new(move |context| done.call(context, result));
            self.calls.work.push_back(Work {
                instruction: Instruction::Call(call),
                done: [None, None],
            });
            self.context.core().attention.call(Reason::Working);
        } else {
            self.callback(Op::Callback, |context| done.call(context, result));
        }
        true
    }
}
