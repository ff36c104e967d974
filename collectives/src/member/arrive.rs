//! Messages of collectives, as they arrive.

use std::rc::Rc;

use gyre_driver::{Arrival, Context, Endpoint, Get, Op, Platform, Receive, Routing};

use super::run::INLINE;
use super::{Call, Early, Shared, Stats, Team, query, wrong};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::hardware::{Notice, State};
use crate::header::{Form, Header, Signature};
use crate::operation::disagreement;

/// Bytes of one charged copy.
pub(super) const COPY_CHUNK: usize = 32;

/// What to do with a message.
enum Place {
    /// It belongs to a collective under way.
    Running,
    /// Its collective has not begun here.
    Early,
    /// Nobody needs it any more.
    Late,
    /// Its collective has ended here without it: the members do not agree.
    Ended,
    /// It makes no sense.
    Wrong(gyre_driver::Error),
}

impl<P: Platform> Shared<P> {
    /// The dispatch callback.
    pub(super) fn arrive(
        self: &Rc<Self>,
        context: &Context<P>,
        arrival: &Arrival<'_>,
    ) -> Receive<P> {
        context.platform().charge(Op::Control, 1);
        let origin = arrival.origin;
        let bytes = arrival.immediate.unwrap_or(&[]);
        if Notice::is(bytes) {
            return self.arrive_notice(context, arrival, bytes);
        }
        let (header, data) = match Header::decode(bytes, origin.task()) {
            Ok((header, at)) => (header, &bytes[at..]),
            Err(error) => return Receive::Refused(error.into()),
        };
        let number = header.geometry;
        match self.place(&header, origin) {
            Place::Wrong(error) => return Receive::Refused(error.into()),
            Place::Ended => {
                // The sender waits for what will not come: its collective ends, and here `advance` says so.
                self.discard(context, &header, origin);
                if header.form == Form::Waits && self.is_of_tree(&header) {
                    self.abandon_tree(context, number);
                }
                self.deny(context, &header);
                let sequence = u64::from(header.sequence);
                let expected = "one that has not ended";
                let error = wrong(origin, "collective", sequence, expected);
                return Receive::Refused(error.into());
            }
            Place::Late => {
                self.discard(context, &header, origin);
                if header.form == Form::GivenUp {
                    self.give_up_in_memory(context, (number, header.sequence));
                }
            }
            Place::Running => self.deliver(context, header, origin, data),
            Place::Early if header.form == Form::GivenUp => {
                self.given_up(context, &header);
                self.follow(context, number);
            }
            Place::Early => {
                self.keep(header, origin, data);
                self.follow(context, number);
            }
        }
        Receive::Consumed
    }

    fn place(&self, header: &Header, origin: Endpoint) -> Place {
        let mut teams = self.teams.borrow_mut();
        let team = teams.entry(header.geometry).or_default();
        if let Some((geometry, _)) = &team.joined
            && geometry.endpoints().get(header.from as usize) != Some(&origin)
        {
            let from = u64::from(header.from);
            return Place::Wrong(wrong(origin, "rank", from, "the rank of its sender"));
        }
        let sequence = header.sequence;
        if team.failed.contains_key(&sequence) {
            Place::Late
        } else if team.running.contains_key(&sequence) {
            Place::Running
        } else if sequence >= team.next {
            Place::Early
        } else {
            match header.form {
                Form::Start | Form::GivenUp => Place::Late,
                Form::Waits => match team.ended.get(&sequence) {
                    Some(ended) if *ended != header.signature => Place::Ended,
                    _ => Place::Late,
                },
                Form::Data { .. } | Form::Announced { .. } => Place::Ended,
            }
        }
    }

    /// Keeps a message until its time has come.
    pub(super) fn keep(&self, header: Header, origin: Endpoint, data: &[u8]) {
        let mut teams = self.teams.borrow_mut();
        let team = teams.entry(header.geometry).or_default();
        let early = Early {
            header,
            origin,
            data: data.to_vec(),
        };
        team.early.entry(header.sequence).or_default().push(early);
        self.held.set(self.held.get() + data.len());
        let held = self.held.get();
        self.count(|stats| {
            stats.early += 1;
            stats.held_bytes = stats.held_bytes.max(held);
        });
    }

    /// Does without the data of a message.
    pub(super) fn discard(&self, context: &Context<P>, header: &Header, origin: Endpoint) {
        if let Form::Announced { cookie, .. } = header.form {
            // The origin is one of the client's endpoints; a context that is being destroyed owes nothing.
            let _ = context.acknowledge(origin, cookie);
        }
    }

    /// A message for a collective under way.
    pub(super) fn deliver(
        self: &Rc<Self>,
        context: &Context<P>,
        header: Header,
        origin: Endpoint,
        data: &[u8],
    ) {
        let key = (header.geometry, header.sequence);
        match header.form {
            Form::Start => return,
            Form::GivenUp => {
                self.given_up(context, &header);
                return;
            }
            Form::Waits => {
                if let Some(error) = self.disagrees(&header) {
                    self.give_up(context, key, error);
                }
                return;
            }
            Form::Data { .. } | Form::Announced { .. } => {}
        }
        match self.take(&header, data.len()) {
            Ok(None) => self.keep(header, origin, data),
            Ok(Some(receive)) => {
                let ended = self.store(context, &header, origin, data, receive);
                self.conclude(context, key, ended);
            }
            Err(error) => {
                self.discard(context, &header, origin);
                self.give_up(context, key, error);
            }
        }
    }

    /// The receive for a message of a collective under way, which expects nothing more then; `None` when its
    /// turn has not come.
    pub(super) fn take(&self, header: &Header, bytes: usize) -> Result<Option<Stored<P>>, Error> {
        let mut teams = self.teams.borrow_mut();
        let team = teams.entry(header.geometry).or_default();
        let Team {
            joined, running, ..
        } = team;
        let (Some((geometry, _)), Some(operation)) = (joined, running.get_mut(&header.sequence))
        else {
            return Ok(None);
        };
        if let Some(fault) = operation.fault(geometry, header) {
            return Err(fault);
        }
        let key = (header.from, header.tag);
        let Some(receive) = operation.expected(key) else {
            return Ok(None);
        };
        if !receive.ready {
            return Ok(None);
        }
        receive.arrived += bytes;
        let receive = *receive;
        let length = header.length as usize;
        let wrong = |ours: usize, theirs: usize| {
            let lengths = ("message bytes", ours as u64, theirs as u64);
            Err(disagreement(geometry, header, lengths))
        };
        let whole = match header.form {
            Form::Data { .. } => receive.arrived == length,
            _ => true,
        };
        if whole {
            operation.arrived(key);
        }
        if receive.arrived > length {
            return wrong(length, receive.arrived);
        }
        let into = match receive.into {
            Some(slice) if slice.len != length => return wrong(slice.len, length),
            Some(slice) => Some(operation.range(slice)?),
            None => None,
        };
        Ok(Some(Stored {
            step: whole.then_some(receive.step),
            into,
            routing: receive.routing,
        }))
    }

    /// Stores a message; gives the step that has ended by it.
    pub(super) fn store(
        self: &Rc<Self>,
        context: &Context<P>,
        header: &Header,
        origin: Endpoint,
        data: &[u8],
        Stored {
            step,
            into,
            routing,
        }: Stored<P>,
    ) -> Result<Option<usize>, Error> {
        let Some(into) = into else {
            self.count(|stats| stats.discarded += u64::from(step.is_some()));
            self.discard(context, header, origin);
            return Ok(step);
        };
        let (cookie, place) = match header.form {
            Form::Announced { cookie, place } => (cookie, place),
            Form::Data { part } => {
                let chunks = data.len().div_ceil(COPY_CHUNK) as u64;
                context.platform().charge(Op::CopyChunk, chunks);
                let at = usize::from(part) * INLINE;
                into.write(at, data).map_err(gyre_driver::Error::from)?;
                return Ok(step);
            }
            Form::Start | Form::GivenUp | Form::Waits => return Ok(None),
        };
        let shared = Rc::clone(self);
        let key = (header.geometry, header.sequence);
        context.get(Get {
            source: origin,
            remote: place,
            into,
            routing,
            done: Some(Box::new(move |context, result| {
                let acknowledged = result.and_then(|()| context.acknowledge(origin, cookie));
                let ended = acknowledged.map(|()| step).map_err(Error::from);
                shared.conclude(context, key, ended);
            })),
        })?;
        Ok(None)
    }

    /// Begins the collectives that this member is to follow, in their order.
    pub(super) fn follow(self: &Rc<Self>, context: &Context<P>, number: u16) {
        while let Some((geometry, rank, sequence, signature, mut callback)) = self.call(number) {
            let call = Call {
                collective: signature.collective,
                root: signature.root as usize,
                bytes: usize::try_from(signature.bytes)
                    .ok()
                    .filter(|_| signature.bytes != u64::MAX),
                data: signature.data,
                op: signature.op,
            };
            let answer = callback(context, &call);
            if let Some(team) = self.teams.borrow_mut().get_mut(&number)
                && team.follow.is_none()
            {
                team.follow = Some(callback);
            }
            let Some(follow) = answer else {
                self.refuse(context, &geometry, rank, sequence, signature);
                continue;
            };
            let valid = follow
                .request
                .check(&geometry, geometry.position(rank))
                .and_then(|()| {
                    let query = query(&geometry, &follow.request, self.network(number));
                    let named = Some(signature.algorithm);
                    geometry.algorithms().choose(&query, named).map(|_| ())
                });
            if let Err(error) = valid {
                self.refuse(context, &geometry, rank, sequence, signature);
                if let Some(done) = follow.done {
                    done(context, Err(error));
                }
                continue;
            }
            // What the member brings along is compared with what the others say like any other call.
            let own = super::signature(&follow.request, signature.algorithm, signature.way);
            self.begin(context, number, own, follow.request, follow.done);
        }
    }

    /// The next collective, if messages say that this member is to follow and it has a callback for that,
    /// which is taken out while it runs.
    fn call(&self, number: u16) -> Option<(Geometry, u32, u32, Signature, super::FollowFn<P>)> {
        let mut teams = self.teams.borrow_mut();
        let team = teams.get_mut(&number)?;
        let (geometry, rank) = team.joined.clone()?;
        if matches!(team.hardware.state, State::Taking(_)) {
            return None;
        }
        team.skip_failed();
        let signature = team.early.get(&team.next)?.first()?.header.signature;
        if !team.follows(&signature) {
            return None;
        }
        Some((geometry, rank, team.next, signature, team.follow.take()?))
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Stats)) {
        let mut stats = self.stats.get();
        count(&mut stats);
        self.stats.set(stats);
    }
}

/// Where a message goes.
pub(super) struct Stored<P: Platform> {
    /// The step that ends by it, if nothing of it is still to come.
    step: Option<usize>,
    /// `None` to drop it.
    into: Option<gyre_driver::BufferRange<P::Buffer>>,
    routing: Routing,
}
