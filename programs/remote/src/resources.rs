// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resources of the node that a task holds, on the machine's side; its threads share them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use gyre_driver::{DmaBuffer, Platform, PlatformLock, RangeError, SharedSegment};

use crate::description::{TaskDescription, WindowPlace};
use crate::host::TaskHost;
use crate::process_memory::{ProcessMemory, ProcessRange};
use crate::protocol::{Answer, NOT_HELD, WAITS_FOR_ITSELF};
use crate::windows::{WINDOWS, Window};

/// An invalid handle.
fn unknown(what: &str) -> String {
    format!("no such {what}")
}

/// Buffers and segments by handle.
pub(crate) struct NodeResources<P: Platform> {
    /// Description of the task.
    pub description: TaskDescription,
    /// Memory of the task's process.
    pub memory: Rc<ProcessMemory>,
    /// Registrations of the process's memory at its base slot, as long as these last.
    _windows: Option<Vec<P::Buffer>>,
    buffers: RefCell<BTreeMap<u64, Rc<P::Buffer>>>,
    segments: RefCell<BTreeMap<u64, Rc<Segment<P::Segment>>>>,
    handles: Cell<u64>,
    threads: Cell<u32>,
    /// Threads that have not begun.
    to_begin: RefCell<BTreeSet<u32>>,
}

impl<P: Platform> NodeResources<P> {
    /// Resources of a new task: the memory of its process, if possible.
    pub fn new(
        description: &TaskDescription,
        memory: Rc<ProcessMemory>,
        services: &dyn TaskHost<P>,
    ) -> Self {
        let map = |window: &Window| {
            let range = ProcessRange::new(&memory, window.start, window.bytes);
            let buffer = services.map(range, Some(window.offset)).ok()?;
            (buffer.offset() == window.offset).then_some(buffer)
        };
        let windows: Option<Vec<P::Buffer>> = WINDOWS.iter().map(map).collect();
        let place = |first: &P::Buffer| WindowPlace {
            slot: first.slot(),
            address: first.address() - first.offset(),
        };
        Self {
            description: TaskDescription {
                windows: windows.as_ref().and_then(|all| all.first().map(place)),
                ..description.clone()
            },
            memory,
            _windows: windows,
            buffers: RefCell::default(),
            segments: RefCell::default(),
            handles: Cell::new(0),
            threads: Cell::new(0),
            to_begin: RefCell::default(),
        }
    }

    /// Whether the task has a buffer or a segment.
    pub fn has_something(&self) -> bool {
        !(self.buffers.borrow().is_empty() && self.segments.borrow().is_empty())
    }

    /// Number of another thread of the task; its first is 0.
    pub fn next_thread(&self) -> u32 {
        let number = self.threads.get() + 1;
        self.threads.set(number);
        self.to_begin.borrow_mut().insert(number);
        number
    }

    /// Takes a thread out of those that have not begun; returns whether it was one.
    pub fn drop_thread(&self, number: u32) -> bool {
        self.to_begin.borrow_mut().remove(&number)
    }

    fn next_handle(&self) -> u64 {
        self.handles.set(self.handles.get() + 1);
        self.handles.get()
    }

    /// Keeps a buffer; its handle.
    pub fn keep_buffer(&self, buffer: P::Buffer) -> u64 {
        let handle = self.next_handle();
        self.buffers.borrow_mut().insert(handle, Rc::new(buffer));
        handle
    }

    /// Keeps a segment; its handle.
    pub fn keep_segment(&self, segment: P::Segment) -> u64 {
        let handle = self.next_handle();
        let segment = Rc::new(Segment {
            segment,
            holder: Cell::new(None),
        });
        self.segments.borrow_mut().insert(handle, segment);
        handle
    }

    /// Gives a buffer or segment back.
    pub fn free(&self, handle: u64) -> Result<(), String> {
        // Dropped when nothing is borrowed: drop lets the machine run, and other threads with it.
        let buffer = self.buffers.borrow_mut().remove(&handle);
        let segment = self.segments.borrow_mut().remove(&handle);
        if buffer.is_none() && segment.is_none() {
            return Err(unknown("buffer"));
        }
        Ok(())
    }

    fn buffer(&self, handle: u64) -> Option<Rc<P::Buffer>> {
        self.buffers.borrow().get(&handle).cloned()
    }

    /// A segment.
    pub fn segment(&self, handle: u64) -> Result<Rc<Segment<P::Segment>>, String> {
        let segment = self.segments.borrow().get(&handle).cloned();
        segment.ok_or_else(|| unknown("segment"))
    }

    /// Reads a buffer or segment.
    pub fn read(
        &self,
        handle: u64,
        offset: usize,
        out: &mut [u8],
    ) -> Result<Result<(), RangeError>, String> {
        if let Some(buffer) = self.buffer(handle) {
            return Ok(buffer.read(offset, out));
        }
        let segment = self.segment(handle).map_err(|_| unknown("buffer"))?;
        Ok(segment.segment.read(offset, out))
    }

    /// Writes a buffer or segment.
    pub fn write(
        &self,
        handle: u64,
        offset: usize,
        data: &[u8],
    ) -> Result<Result<(), RangeError>, String> {
        if let Some(buffer) = self.buffer(handle) {
            return Ok(buffer.write(offset, data));
        }
        let segment = self.segment(handle).map_err(|_| unknown("buffer"))?;
        Ok(segment.segment.write(offset, data))
    }
}

/// A shared segment, and the thread of the task that holds its lock.
pub(crate) struct Segment<S> {
    segment: S,
    holder: Cell<Option<u32>>,
}

impl<S: PlatformLock> Segment<S> {
    /// `PlatformLock::lock` for a thread.
    pub fn lock(&self, thread: u32) -> Result<Answer, String> {
        if self.holder.get() == Some(thread) {
            return Err(WAITS_FOR_ITSELF.to_owned());
        }
        self.segment.lock();
        self.holder.set(Some(thread));
        Ok(Answer::Done)
    }

    /// `PlatformLock::trylock` for a thread.
    pub fn trylock(&self, thread: u32) -> Answer {
        let taken = self.segment.trylock();
        if taken {
            self.holder.set(Some(thread));
        }
        Answer::Truth(taken)
    }

    /// `PlatformLock::unlock` for a thread.
    pub fn unlock(&self, thread: u32) -> Result<Answer, String> {
        if self.holder.get() != Some(thread) {
            return Err(NOT_HELD.to_owned());
        }
        self.holder.set(None);
        self.segment.unlock();
        Ok(Answer::Done)
    }
}
