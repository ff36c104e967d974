// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads of a context: posts to its queue, and sleep until there is something to do.

use std::collections::VecDeque;

use crate::api::context::{CallFn, Context, ContextQueue, Ends, Work};
use crate::api::queue::NEVER;
use crate::attention::Reason;
use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::{Platform, PlatformLock, WakeReason};
use crate::sync::{Arc, Ordering, lock};

impl<P: Platform> Context<P> {
    /// Has `advance` call a function at simulated time `at_ps`, or as soon as a thread advances the context after that;
    /// [`wait`](Self::wait) ends by then. It does not count as work: a context at rest may have alarms, and a destroyed
    /// one drops them.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn call_at(&self, at_ps: u64, function: CallFn<P>) -> Result<(), Error> {
        self.enqueue(|queue| {
            queue.alarms_ever += 1;
            queue.alarms.insert((at_ps, queue.alarms_ever), function);
            self.note_alarm(queue);
        })
    }

    /// Takes an alarm whose time has come.
    pub(super) fn take_alarm(&self) -> Option<CallFn<P>> {
        if !self.core().attention.has(Reason::Alarm) {
            return None;
        }
        let first = self.shared().alarm_ps.load(Ordering::Acquire);
        if first == NEVER || self.platform().now_ps() < first {
            return None;
        }
        self.with_queue(|queue| {
            let alarm = queue.alarms.pop_first();
            self.note_alarm(queue);
            alarm.map(|(_, function)| function)
        })
    }

    /// Notes the time of the first alarm.
    pub(super) fn note_alarm(&self, queue: &ContextQueue<P>) {
        let first = queue.alarms.keys().next().map_or(NEVER, |(at, _)| *at);
        self.shared().alarm_ps.store(first, Ordering::Release);
        self.core().attention.set(Reason::Alarm, first != NEVER);
    }

    /// A mark of the events until now, for [`wait_since`](Self::wait_since). It advances with every post, and with
    /// every `advance` that has run callbacks or after which the context is at rest.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.shared().announcements.load(Ordering::SeqCst)
    }

    /// As [`wait`](Self::wait), and returns at once when something has happened since `epoch`. A thread that tests a
    /// condition and then sleeps until a callback on another thread makes it true reads the epoch first: no callback
    /// between its test and its sleep is missed.
    ///
    /// ```text
    /// let seen = context.epoch();
    /// if !done.get() { context.wait_since(seen, None)?; }
    /// ```
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn wait_since(&self, epoch: u64, deadline_ps: Option<u64>) -> Result<WakeReason, Error> {
        self.sleep(Some(epoch), deadline_ps)
    }

    /// Sleeps until there may be something for `advance` to do, or until `deadline_ps`; returns at once if
    /// there is already. Wakes for packets, completions, work posted by other threads, and callbacks that
    /// another thread has run; may wake without reason. Call it without the lock, never from a callback,
    /// and call `advance` between two waits: it takes note of the wake-up.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn wait(&self, deadline_ps: Option<u64>) -> Result<WakeReason, Error> {
        self.sleep(None, deadline_ps)
    }

    fn sleep(&self, since: Option<u64>, deadline_ps: Option<u64>) -> Result<WakeReason, Error> {
        self.platform().charge(Op::Wait, 1);
        let asleep_since = self.with_queue(|queue| {
            if queue.destroyed {
                return Err(Fault::from(Error::Destroyed));
            }
            let shared = self.shared();
            // Registers as sleeper before it reads the count: a later announcement finds it.
            shared.sleepers.fetch_add(1, Ordering::SeqCst);
            let announcements = shared.announcements.load(Ordering::SeqCst);
            let sleeps = queue.work.is_empty()
                && queue.ends.is_empty()
                && since.is_none_or(|epoch| epoch == announcements)
                && !shared.unfinished.load(Ordering::Acquire)
                && !self.core().attention.has(Reason::Woken);
            if !sleeps {
                shared.sleepers.fetch_sub(1, Ordering::SeqCst);
            }
            Ok(sleeps.then_some(announcements))
        })?;
        let Some(asleep_since) = asleep_since else {
            return Ok(WakeReason::Wake);
        };
        let group = self.core().info.wake_group;
        let alarm_ps = self.shared().alarm_ps.load(Ordering::Acquire);
        let alarm_first = alarm_ps < deadline_ps.unwrap_or(NEVER);
        let until_ps = match alarm_first {
            true => Some(alarm_ps),
            false => deadline_ps,
        };
        let mut reason = self.platform().wait(group, until_ps);
        let (destroyed, others) = self.with_queue(|queue| {
            self.shared().sleepers.fetch_sub(1, Ordering::SeqCst);
            let announcements = self.shared().announcements.load(Ordering::SeqCst);
            // An announcement under way has not reached any thread yet.
            let told = usize::from(announcements != asleep_since);
            queue.unaware = queue.unaware.saturating_sub(told);
            (queue.destroyed, queue.unaware > 0)
        });
        // A signal before a sleep wakes only one of the threads that are about to sleep.
        self.signal(others);
        if destroyed {
            return Err(Error::Destroyed);
        }
        if reason == WakeReason::Wake {
            self.core().attention.call(Reason::Woken);
        } else if alarm_first {
            reason = WakeReason::Wake;
        }
        Ok(reason)
    }

    /// Refuses a destroyed context.
    pub(crate) fn check_alive(&self) -> Result<(), Error> {
        // Set as long as it is destroyed.
        if self.has_posted() && self.with_queue(|queue| queue.destroyed) {
            return Err(Error::Destroyed);
        }
        Ok(())
    }

    /// Whether instructions have been posted and not taken, or the context has been destroyed.
    pub(super) fn has_posted(&self) -> bool {
        self.core().attention.has(Reason::Posted)
    }

    /// Whether instructions have been posted and not carried out, or the context has been destroyed.
    pub(super) fn has_work(&self) -> bool {
        let work = [Reason::Posted, Reason::Working];
        self.core().attention.has_any(work)
    }

    /// Moves the instructions posted so far behind those in `work`.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub(super) fn take_work(&self, work: &mut VecDeque<Work<P>>) -> Result<(), Fault> {
        // Set and cleared under the lock: a thread that has seen a post sees this too.
        if !self.has_posted() {
            return Ok(());
        }
        self.with_queue(|queue| {
            if queue.destroyed {
                return Err(Error::Destroyed.into());
            }
            // First: in between no other work goes before the taken work.
            self.core().attention.call(Reason::Working);
            self.core().attention.clear(Reason::Posted);
            if work.is_empty() {
                // Both keep their memory.
                core::mem::swap(work, &mut queue.work);
            } else {
                work.append(&mut queue.work);
            }
            Ok(())
        })
    }

    /// Has `advance` call `ends`, which delivers one completion of a module, behind messages.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub(crate) fn post_end(&self, ends: Arc<dyn Ends<P>>) -> Result<(), Error> {
        self.enqueue(|queue| {
            queue.ends.push_back(ends);
            self.core().attention.call(Reason::Ending);
        })
    }

    /// Moves the modules with completions to deliver to `ends`, which is empty.
    pub(super) fn take_ends(&self, ends: &mut VecDeque<Arc<dyn Ends<P>>>) {
        self.with_queue(|queue| {
            // Before they leave the queue: in between the context would look at rest.
            self.core().leave_rest();
            self.core().attention.clear(Reason::Ending);
            // Both keep their memory.
            core::mem::swap(ends, &mut queue.ends);
        });
    }

    /// Changes the queue by `put`, and wakes the threads inside `wait`.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub(super) fn enqueue(&self, put: impl FnOnce(&mut ContextQueue<P>)) -> Result<(), Error> {
        let asleep = self.with_queue(|queue| {
            if queue.destroyed {
                return Err(Fault::from(Error::Destroyed));
            }
            put(queue);
            Ok(self.announce_to(queue))
        })?;
        self.signal(asleep);
        Ok(())
    }

    /// Wakes the threads inside [`wait`](Self::wait), for work that the context does not know. [`epoch`](Self::epoch)
    /// advances.
    pub fn wake(&self) {
        self.announce();
    }

    /// Wakes the threads inside `wait`.
    #[inline(always)]
    pub(super) fn announce(&self) {
        let shared = self.shared();
        if shared.sleepers.load(Ordering::SeqCst) == 0 {
            shared.announcements.fetch_add(1, Ordering::SeqCst);
            // A thread that goes to sleep from now on sees the announcement.
            if shared.sleepers.load(Ordering::SeqCst) == 0 {
                return;
            }
        }
        self.announce_to_sleepers();
    }

    #[inline(never)]
    fn announce_to_sleepers(&self) {
        let asleep = self.with_queue(|queue| self.announce_to(queue));
        self.signal(asleep);
    }

    /// As [`announce`](Self::announce), under the lock of the queue. Returns whether the wake group must be signalled.
    pub(super) fn announce_to(&self, queue: &mut ContextQueue<P>) -> bool {
        self.shared().announcements.fetch_add(1, Ordering::SeqCst);
        queue.unaware = self.shared().sleepers.load(Ordering::SeqCst);
        queue.unaware > 0
    }

    /// Signals the wake group, if threads are asleep.
    pub(super) fn signal(&self, asleep: bool) {
        if asleep {
            self.platform().notify(self.core().info.wake_group);
        }
    }

    pub(super) fn with_queue<R>(&self, work: impl FnOnce(&mut ContextQueue<P>) -> R) -> R {
        self.shared().queue_lock.lock();
        let result = work(&mut lock(&self.shared().queue));
        self.shared().queue_lock.unlock();
        result
    }
}
