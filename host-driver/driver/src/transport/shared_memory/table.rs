// SPDX-License-Identifier: MIT OR Apache-2.0
//! The endpoint table of a client on a node.

use super::segment::segment_number;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::layout::{ClientLayout, ContextInfo};
use crate::platform::{Platform, PlatformLock, SharedSegment};
use crate::task::TaskId;

/// Bytes before the first entry, and of an entry.
const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 32;

/// A process's handle of the table.
pub(crate) struct EndpointTable<P: Platform> {
    segment: P::Segment,
    client: u8,
    entries: u16,
}

impl<P: Platform> EndpointTable<P> {
    /// Finds the table of the client of that `layout`, or makes it.
    ///
    /// # Errors
    /// [`Error::Segment`]; [`Error::Config`] when a process of the node has created the client with different values of
    /// the common settings.
    pub fn open(platform: &P, layout: &ClientLayout) -> Result<Self, Error> {
        let config = &layout.config;
        let entries = layout.contexts_here();
        let bytes = HEADER_BYTES + usize::from(entries) * ENTRY_BYTES;
        platform.charge(Op::Allocate, 1);
        let segment = platform.share(segment_number(config.id, 0), bytes)?;
        // 1: the rest has been written, on which the client's processes of the node must agree.
        let mine = [
            1,
            u32::from(config.contexts),
            config.same_node as u32,
            config.resources.shared_ring as u32, // at most 2^20
        ];
        let agreed = locked(platform, &segment, || {
            let found = segment.read_words(0)?;
            if found[0] != 0 {
                return Ok(found);
            }
            segment.write_words(0, mine)?;
            Ok(mine)
        })?;
        for (index, field) in [(1, "contexts"), (2, "same_node"), (3, "shared_ring")] {
            if agreed[index] != mine[index] {
                return Err(Error::Config {
                    client: config.name.clone(),
                    field,
                    value: mine[index].into(),
                    expected: "what the client's other processes on the node have",
                });
            }
        }
        Ok(Self {
            segment,
            client: config.id,
            entries,
        })
    }

    /// Writes the entry of context `index` of the node.
    pub fn announce(&self, platform: &P, index: u16, info: &ContextInfo) -> Result<(), Error> {
        let fifos = &info.injection_fifos;
        let entry = [
            1,
            info.endpoint.task.0,
            u32::from(info.endpoint.context),
            u32::from(info.wake_group),
            u32::from(fifos.start),
            u32::from(fifos.end),
            u32::from(info.remote_get_fifo),
            u32::from(info.reception_fifo),
        ];
        locked(platform, &self.segment, || {
            Ok(self.segment.write_words(place(index), entry)?)
        })
    }

    /// Clears the entry of context `index` of the node.
    pub fn withdraw(&self, platform: &P, index: u16) -> Result<(), Error> {
        locked(platform, &self.segment, || {
            Ok(self
                .segment
                .write_words(place(index), [0; ENTRY_BYTES / 4])?)
        })
    }

    /// The context `index` of the node, if it is open.
    pub fn find(&self, platform: &P, index: u16) -> Result<Option<ContextInfo>, Error> {
        let entry = locked(platform, &self.segment, || {
            Ok(self.segment.read_words(place(index))?)
        })?;
        let [
            open,
            task,
            context,
            wake_group,
            first,
            end,
            remote_get,
            reception,
        ] = entry;
        // Written by `announce`: each fits its type.
        Ok((open != 0).then_some(ContextInfo {
            endpoint: Endpoint {
                client: self.client,
                context: context as u8,
                task: TaskId(task),
            },
            injection_fifos: first as u16..end as u16,
            remote_get_fifo: remote_get as u16,
            reception_fifo: reception as u16,
            wake_group: wake_group as u8,
        }))
    }

    /// The open contexts of the node, in the order of their places.
    pub fn all(&self, platform: &P) -> Result<Vec<ContextInfo>, Error> {
        let found = (0..self.entries).map(|index| self.find(platform, index).transpose());
        found.flatten().collect()
    }
}

/// Byte of the segment at which an entry begins.
fn place(index: u16) -> usize {
    HEADER_BYTES + usize::from(index) * ENTRY_BYTES
}

/// Works on the segment under its lock.
fn locked<P: Platform, R>(
    platform: &P,
    segment: &P::Segment,
    work: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    platform.charge(Op::Lock, 1);
    segment.lock();
    platform.charge(Op::CopyChunk, 1);
    let result = work();
    platform.charge(Op::Lock, 1);
    segment.unlock();
    result
}
