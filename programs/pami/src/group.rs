// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geometries as programs hold them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use gyre_collectives::{Geometry, Member};
use gyre_driver::{Endpoint, TaskId};
use gyre_remote::RemotePlatform;
use parking_lot::Mutex;

use crate::agreement::Name;
use crate::amcollective::call::Kind;
use crate::amcollective::receiver::Receiver;
use crate::failure::Failure;
use crate::handles::Handles;

/// All geometries of the process.
pub static GEOMETRIES: Handles<Group> = Handles::new("geometry", 0x100_0000);

/// An endpoint of this task in a geometry, with the offset of its context.
pub type Own = (u8, Arc<Member<RemotePlatform>>);

/// Called when a geometry has no pending collectives.
type Idle = Box<dyn FnOnce() + Send>;

/// A geometry that the program has created.
pub struct Group {
    /// Handle of its client.
    pub client: usize,
    /// Name before the geometry has a number.
    pub name: Name,
    /// Its endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Its number and this task's part of it, once all tasks have created it.
    made: OnceLock<Made>,
    under_way: Mutex<UnderWay>,
    /// Receivers of active-message collectives, by context, kind and number.
    receivers: Mutex<BTreeMap<(u8, Kind, usize), Receiver>>,
}

/// A geometry that all its tasks have created.
pub struct Made {
    /// The collectives' geometry.
    pub geometry: Geometry,
    own: Mutex<Vec<Own>>,
}

#[derive(Default)]
struct UnderWay {
    collectives: usize,
    idle: Option<Idle>,
}

impl Group {
    /// A geometry that is being created.
    pub fn new(client: usize, name: Name, endpoints: Vec<Endpoint>) -> Self {
        Self {
            client,
            name,
            endpoints,
            made: OnceLock::new(),
            under_way: Mutex::default(),
            receivers: Mutex::default(),
        }
    }

    /// The geometry of all tasks.
    pub fn world(client: usize, geometry: Geometry, own: Own) -> Self {
        let name = Name { id: 0, members: 0 };
        let group = Self::new(client, name, geometry.endpoints().to_vec());
        group.make(geometry, vec![own]);
        group
    }

    /// The geometry with this number of the client with a handle, with its own handle.
    pub fn with_number(client: usize, number: u16) -> Option<(usize, Arc<Self>)> {
        let is = |group: &Self| {
            let made = group.made();
            group.client == client && made.is_ok_and(|made| made.geometry.number() == number)
        };
        let mut all = GEOMETRIES.all().into_iter();
        all.find(|(_, group)| is(group))
    }

    /// Whether the client with a handle has begun to create a geometry whose creation has not ended in this task.
    pub fn is_one_to_come(client: usize) -> bool {
        let mut all = GEOMETRIES.all().into_iter();
        all.any(|(_, group)| group.client == client && group.made().is_err())
    }

    /// Whether it is that of all tasks.
    pub fn is_world(&self) -> bool {
        self.name.id == 0
    }

    /// Notes that all tasks have created it.
    pub fn make(&self, geometry: Geometry, own: Vec<Own>) {
        let own = Mutex::new(own);
        // A geometry is made once.
        let _ = self.made.set(Made { geometry, own });
    }

    /// The geometry, once all tasks have created it.
    ///
    /// # Errors
    /// `PAMI_INVAL` before that.
    pub fn made(&self) -> Result<&Made, Failure> {
        let made = self.made.get();
        made.ok_or_else(|| {
            let id = self.name.id;
            Failure::invalid(format!("the creation of geometry {id} has not ended"))
        })
    }

    /// Sets, or replaces, the receiver of active-message collectives of a kind with number `dispatch` in the context at
    /// `offset`.
    pub fn receive_by(&self, offset: u8, kind: Kind, dispatch: usize, receiver: Receiver) {
        let mut receivers = self.receivers.lock();
        receivers.insert((offset, kind, dispatch), receiver);
    }

    /// Receiver of active-message collectives of a kind with number `dispatch` in the context at `offset`.
    ///
    /// # Errors
    /// `PAMI_INVAL` when that is not set.
    pub fn receiver(&self, offset: u8, kind: Kind, dispatch: usize) -> Result<Receiver, Failure> {
        let receivers = self.receivers.lock();
        let found = receivers.get(&(offset, kind, dispatch)).copied();
        found.ok_or_else(|| {
            let kind = kind.name();
            Failure::invalid(format!("dispatch {dispatch} of {kind} is not set"))
        })
    }

    /// Removes the receivers of the context with a handle, which ends.
    pub fn forget(&self, context: usize) {
        let mut receivers = self.receivers.lock();
        receivers.retain(|_, receiver| receiver.context != context);
    }

    /// Notes that a collective begins.
    pub fn begin(&self) {
        self.under_way.lock().collectives += 1;
    }

    /// Notes that a collective has ended.
    pub fn end(&self) {
        let idle = {
            let mut under_way = self.under_way.lock();
            under_way.collectives -= 1;
            match under_way.collectives {
                0 => under_way.idle.take(),
                _ => None,
            }
        };
        if let Some(idle) = idle {
            idle();
        }
    }

    /// Calls `idle` at the end of the last pending collective; there is at least one.
    pub fn when_idle(&self, idle: impl FnOnce() + Send + 'static) {
        self.under_way.lock().idle = Some(Box::new(idle));
    }
}

/// The tasks of endpoints.
pub fn tasks_of(endpoints: &[Endpoint]) -> BTreeSet<TaskId> {
    endpoints.iter().map(|endpoint| endpoint.task()).collect()
}

impl Made {
    /// Calls `work` with the endpoint of this task at a context's offset.
    ///
    /// # Errors
    /// `PAMI_INVAL` when there is none.
    pub fn with<R>(
        &self,
        offset: usize,
        work: impl FnOnce(&Member<RemotePlatform>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let member = {
            let own = self.own.lock();
            let found = own.iter().find(|(own, _)| usize::from(*own) == offset);
            found.map(|(_, member)| Arc::clone(member))
        };
        // Other threads of the task run meanwhile.
        match member {
            Some(member) => work(&member),
            None => Err(Failure::invalid(format!(
                "context {offset} of this task is not an endpoint of the geometry"
            ))),
        }
    }

    /// Calls `work` with each endpoint of this task.
    ///
    /// # Errors
    /// The first error of `work`.
    pub fn each(
        &self,
        mut work: impl FnMut(&Member<RemotePlatform>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let own = self.own.lock().clone();
        own.iter().try_for_each(|(_, member)| work(member))
    }

    /// Endpoints of this task.
    pub fn own(&self) -> usize {
        self.own.lock().len()
    }

    /// Takes this task out.
    pub fn leave(&self) {
        let own = std::mem::take(&mut *self.own.lock());
        let members = own.into_iter().map(|(_, member)| member);
        // A thread that still posts with one violates the order of calls; the endpoint ends with that thread.
        members.filter_map(Arc::into_inner).for_each(Member::leave);
    }
}
