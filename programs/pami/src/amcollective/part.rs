// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of an endpoint in an active-message collective while it waits for its subtree.

use std::sync::Arc;

use gyre_driver::{BufferRange, Endpoint};
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::amcollective::call::{Call, Kind};
use crate::amcollective::tree::Tree;
use crate::failure::Failure;
use crate::group::Group;
use crate::operations::combine;

/// Use of the collected data at the root.
pub type End = Box<dyn FnOnce(Result<BufferRange<RemoteBuffer>, Failure>) + Send>;

/// Destination of collected data.
pub enum Above {
    /// The endpoint that has called this one.
    Endpoint(Endpoint),
    /// This is the root.
    Root(End),
}

/// Part that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The endpoint's own.
    Own,
    /// Part of the subtree at a place.
    Child(u32),
}

/// A called endpoint, with its subtree.
struct Child {
    tree: Tree,
    into: BufferRange<RemoteBuffer>,
    has_answered: bool,
}

/// A pending collective at an endpoint.
pub struct Part {
    /// The call.
    pub call: Call,
    /// Its geometry.
    pub group: Arc<Group>,
    /// Destination of its data.
    pub above: Above,
    /// Data of this endpoint and its subtree, in the order of the tree.
    collected: BufferRange<RemoteBuffer>,
    children: Vec<Child>,
    own_done: bool,
    /// The first failure.
    failure: Option<Failure>,
}

/// Memory of the library.
fn zeroed(platform: &RemotePlatform, bytes: usize) -> Result<BufferRange<RemoteBuffer>, Failure> {
    match bytes {
        0 => Ok(BufferRange::empty()),
        _ => Ok(BufferRange::zeroed(platform, bytes)?),
    }
}

impl Part {
    /// Nothing is done yet.
    ///
    /// # Errors
    /// `PAMI_ENOMEM` when there is no memory for the data.
    pub fn new(
        platform: &RemotePlatform,
        call: Call,
        group: &Arc<Group>,
        above: Above,
    ) -> Result<Self, Failure> {
        let collected = zeroed(platform, call.answer(call.tree.span()))?;
        let into = |child: Tree| {
            let bytes = call.answer(child.span());
            if bytes == 0 || call.combined.is_some() {
                return zeroed(platform, bytes);
            }
            let before = (child.place - call.tree.place) as usize;
            let part = collected.part(call.answer(before), bytes);
            Ok(part.map_err(gyre_driver::Error::from)?)
        };
        let children = call.tree.children().map(|tree| {
            Ok::<_, Failure>(Child {
                tree,
                into: into(tree)?,
                has_answered: false,
            })
        });
        Ok(Self {
            children: children.collect::<Result<_, _>>()?,
            call,
            group: Arc::clone(group),
            above,
            collected,
            own_done: false,
            failure: None,
        })
    }

    /// Memory for the data of the subtree at a place; `None` for an unexpected place.
    pub fn into(&self, place: u32) -> Option<BufferRange<RemoteBuffer>> {
        let mut waiting = self.children.iter().filter(|child| !child.has_answered);
        let child = waiting.find(|child| child.tree.place == place)?;
        Some(child.into.clone())
    }

    /// Notes the end of a part, of the endpoint itself with its data. Only the first report of each counts.
    pub fn note(&mut self, whose: Whose, outcome: Result<Vec<u8>, Failure>) {
        let done = match whose {
            Whose::Own => Some(&mut self.own_done),
            Whose::Child(place) => {
                let mut children = self.children.iter_mut();
                let child = children.find(|child| child.tree.place == place);
                child.map(|child| &mut child.has_answered)
            }
        };
        let Some(done) = done.filter(|done| !**done) else {
            return;
        };
        *done = true;
        let outcome = outcome.and_then(|data| {
            let written = self.collected.write(0, &data);
            Ok(written.map_err(gyre_driver::Error::from)?)
        });
        if let Err(failure) = outcome {
            self.failure.get_or_insert(failure);
        }
    }

    /// Whether all parts have ended.
    pub fn is_complete(&self) -> bool {
        self.own_done && self.children.iter().all(|child| child.has_answered)
    }

    /// Data of this endpoint and its subtree: combined, or concatenated.
    ///
    /// # Errors
    /// The first failure of an endpoint.
    pub fn collected(&mut self) -> Result<BufferRange<RemoteBuffer>, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.call.kind != Kind::Reduce || self.collected.is_empty() {
            return Ok(self.collected.clone());
        }
        if let Some((operation, element)) = self.call.combination() {
            let combine = combine(element, operation)
                .ok_or_else(|| Failure::error("the operation is not defined on the type"))?;
            let data = |range: &BufferRange<RemoteBuffer>| {
                let mut data = vec![0; range.len()];
                let read = range.read(0, &mut data).map_err(gyre_driver::Error::from);
                read.map(|()| data)
            };
            // In the order of the tree, not of arrival, so rounding is the same in every run.
            let mut all = data(&self.collected)?;
            for child in &self.children {
                combine(&mut all, &data(&child.into)?);
            }
            let written = self.collected.write(0, &all);
            written.map_err(gyre_driver::Error::from)?;
        }
        Ok(self.collected.clone())
    }
}
