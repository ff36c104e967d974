// SPDX-License-Identifier: MIT OR Apache-2.0
//! Active-message collectives at a context: calls go down the tree, each with the headers and data of a subtree, and answers go
//! up, each with the data of a subtree.
//!
//! An endpoint forwards a call before it calls its function of the program, and answers when that has ended and all children have
//! answered, so the root learns the end of all, and failures of any. Collectives are not ordered; calls and answers name theirs
//! by [`Key`].

use std::collections::BTreeMap;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use gyre_driver::{Arrival, BufferRange, Context, DoneFn, Endpoint, Error, Receive};
use gyre_remote::RemotePlatform;
use parking_lot::Mutex;

use crate::amcollective::call::{Call, Key, Message, failure};
use crate::amcollective::messages::{DISPATCH, Range, answer, name, receive, send};
use crate::amcollective::own_part::{self, Caller};
use crate::amcollective::part::{Above, Part, Whose};
use crate::amcollective::tree::Tree;
use crate::endpoint_code::endpoint_code;
use crate::failure::Failure;
use crate::group::Group;
use gyre_interpose::Job;

/// An arrived call, with all its items.
struct Come {
    call: Call,
    caller: Endpoint,
    items: Range,
}

/// The active-message collectives of a context.
pub struct Calls {
    /// Handle of the client.
    client: usize,
    last: AtomicU32,
    under_way: Mutex<BTreeMap<Key, Part>>,
    /// Calls for geometries that this task has not made yet, though others have.
    held: Mutex<Vec<Come>>,
}

impl Calls {
    /// Empty. Sets the dispatch of a context of the client with handle `client`.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn attach(context: &Context<RemotePlatform>, client: usize) -> Result<Arc<Self>, Error> {
        let this = Arc::new(Self {
            client,
            last: AtomicU32::new(0),
            under_way: Mutex::default(),
            held: Mutex::default(),
        });
        let calls = Arc::clone(&this);
        let receive = move |context: &Context<_>, arrival: &Arrival<'_>| {
            let received = calls.arrive(context, arrival);
            received.unwrap_or_else(|error| Receive::Refused(Box::new(error)))
        };
        context.set_dispatch(DISPATCH, Box::new(receive))?;
        Ok(this)
    }

    /// A new number for a collective with this context as root.
    pub fn number(&self) -> u32 {
        self.last.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins a part: calls the children. `items` are those of the whole subtree.
    pub fn begin(self: &Arc<Self>, context: &Context<RemotePlatform>, part: Part, items: &Range) {
        let (call, group) = (part.call, Arc::clone(&part.group));
        self.under_way.lock().insert(call.key, part);
        // The largest subtree first: it takes longest.
        for tree in call.tree.children().rev() {
            let to = group.endpoints[tree.index(call.key.root) as usize];
            let before = call.items((tree.place - call.tree.place) as usize);
            let at = if call.is_one_for_all() { 0 } else { before };
            let bytes = call.items(tree.span());
            let this = Arc::clone(self);
            let whose = Whose::Child(tree.place);
            // Its answer reports the end, unless none will come.
            let sent: DoneFn<RemotePlatform> = Box::new(move |context, outcome| {
                if let Err(error) = outcome {
                    this.done(context, call.key, whose, Err(error.into()));
                }
            });
            let part = match bytes {
                0 => Ok(BufferRange::empty()),
                _ => items.part(at, bytes).map_err(Error::from),
            };
            let message = Message::Call(Call { tree, ..call });
            let posted = part
                .map_err(Failure::from)
                .and_then(|part| send(context, to, &message, part, Some(sent)));
            if let Err(failure) = posted {
                self.done(context, call.key, whose, Err(failure));
            }
        }
    }

    /// Notes the end of a part, of this endpoint with its data; answers when all parts have ended.
    pub fn done(
        &self,
        context: &Context<RemotePlatform>,
        key: Key,
        whose: Whose,
        outcome: Result<Vec<u8>, Failure>,
    ) {
        let mut part = {
            let mut under_way = self.under_way.lock();
            // Later failures add nothing to a reported one.
            let Some(part) = under_way.get_mut(&key) else {
                return;
            };
            part.note(whose, outcome);
            if !part.is_complete() {
                return;
            }
            let Some(part) = under_way.remove(&key) else {
                return;
            };
            part
        };
        let collected = part.collected();
        match part.above {
            Above::Root(end) => end(collected),
            Above::Endpoint(above) => {
                answer(context, above, &part.call, collected);
                part.group.end();
            }
        }
    }

    /// Handles calls that waited for a geometry.
    pub fn made(self: &Arc<Self>, context: &Context<RemotePlatform>) {
        let held = std::mem::take(&mut *self.held.lock());
        for come in held {
            self.take_part(context, come);
        }
    }

    fn arrive(
        self: &Arc<Self>,
        context: &Context<RemotePlatform>,
        arrival: &Arrival<'_>,
    ) -> Result<Receive<RemotePlatform>, Error> {
        match Message::decode(arrival.header) {
            Some(Message::Call(call)) if call.items(call.tree.span()) == arrival.length => {
                self.called(context, call, arrival)
            }
            Some(Message::Answer {
                key,
                place,
                failure,
            }) => self.answered(context, (key, place), failure, arrival),
            _ => Err(Error::ControlMessage {
                origin: arrival.origin.task(),
                message: "message of an active-message collective",
                field: "length",
                value: arrival.length as u64,
                expected: "a header that makes sense, and as much data as it says",
            }),
        }
    }

    fn called(
        self: &Arc<Self>,
        context: &Context<RemotePlatform>,
        call: Call,
        arrival: &Arrival<'_>,
    ) -> Result<Receive<RemotePlatform>, Error> {
        let this = Arc::clone(self);
        let caller = arrival.origin;
        let come = move |items| Come {
            call,
            caller,
            items,
        };
        receive(arrival, None, context, move |context, came| match came {
            Ok(items) => this.take_part(context, come(items)),
            Err(failure) => answer(context, caller, &call, Err(failure)),
        })
    }

    fn answered(
        self: &Arc<Self>,
        context: &Context<RemotePlatform>,
        (key, place): (Key, u32),
        refused: Option<(i32, String)>,
        arrival: &Arrival<'_>,
    ) -> Result<Receive<RemotePlatform>, Error> {
        let whose = Whose::Child(place);
        if let Some(refused) = refused {
            self.done(context, key, whose, Err(failure(refused)));
            return Ok(Receive::Consumed);
        }
        let into = {
            let under_way = self.under_way.lock();
            under_way.get(&key).and_then(|part| part.into(place))
        };
        // Unexpected parts follow a reported failure.
        let Some(into) = into else {
            return Ok(Receive::Consumed);
        };
        if into.len() != arrival.length {
            let text = format!(
                "{} bytes are answered where {} are expected",
                arrival.length,
                into.len()
            );
            self.done(context, key, whose, Err(Failure::error(text)));
            return Ok(Receive::Consumed);
        }
        let this = Arc::clone(self);
        receive(arrival, Some(into), context, move |context, came| {
            this.done(context, key, whose, came.map(|_| Vec::new()));
        })
    }

    /// Handles a call: forwards it, and does this endpoint's part.
    fn take_part(self: &Arc<Self>, context: &Context<RemotePlatform>, come: Come) {
        let (call, caller) = (come.call, come.caller);
        let taken = match Group::with_number(self.client, call.key.geometry) {
            Some(found) => self.take_part_in(context, found, &come),
            None if Group::is_one_to_come(self.client) => {
                self.held.lock().push(come);
                return;
            }
            None => Err(Failure::invalid(format!(
                "{}: it has left the geometry",
                name(context.query().endpoint)
            ))),
        };
        if let Err(failure) = taken {
            answer(context, caller, &call, Err(failure));
        }
    }

    fn take_part_in(
        self: &Arc<Self>,
        context: &Context<RemotePlatform>,
        (handle, group): (usize, Arc<Group>),
        come: &Come,
    ) -> Result<(), Failure> {
        let Come {
            call,
            caller,
            items,
        } = come;
        let members = &group.endpoints;
        let endpoint = |tree: Tree| members.get(tree.index(call.key.root) as usize);
        let own = context.query().endpoint;
        let root = Tree::root(call.tree.members);
        let is_same = members.len() == call.tree.members as usize;
        let is_same = is_same && endpoint(call.tree) == Some(&own);
        let (Some(&origin), true) = (endpoint(root), is_same) else {
            return Err(Failure::error("the tasks have different geometries"));
        };
        let mut item = vec![0; call.item()];
        items.read(0, &mut item).map_err(Error::from)?;
        let part = Part::new(
            &Job::get()?.platform,
            *call,
            &group,
            Above::Endpoint(*caller),
        )?;
        group.begin();
        self.begin(context, part, items);
        let receiver = group.receiver(own.context_offset(), call.kind, call.dispatch as usize);
        let outcome = receiver.and_then(|receiver| {
            let caller = Caller {
                origin: endpoint_code(origin),
                geometry: handle,
                operation: (ptr::null_mut(), false),
            };
            let own = own_part::run(&receiver, call, &item, caller);
            let given = own.outcome.and_then(|given| {
                let by = given.operation.map(|operation| operation.anywhere());
                match by.filter(|by| call.combined.is_some() && *by != call.combination()) {
                    Some(_) => Err(Failure::invalid(
                        "operation or type are not those of the root",
                    )),
                    None => Ok(given.data),
                }
            });
            own.event
                .end(given.as_ref().map(|_| ()).map_err(Clone::clone));
            given
        });
        let outcome = outcome.map_err(|failure| Failure {
            text: format!("{}: {failure}", name(own)),
            ..failure
        });
        self.done(context, call.key, Whose::Own, outcome);
        Ok(())
    }
}
