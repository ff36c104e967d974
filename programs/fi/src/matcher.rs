// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matching of messages with receives by source, tag and mask, with claims of probes and multi-receive buffers.

use gyre_driver::matching::table::{self, MatchTable};
use gyre_driver::{DeferredReceive, TaskId};
use gyre_interpose::Staging;
use gyre_remote::RemotePlatform;

use crate::destination::{Buffer, Landing};

/// Sender: a task, and the offset of its context.
pub type Source = (TaskId, u8);

/// Contents of the first packet of a message.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    /// Sender.
    pub source: Source,
    /// Its tag.
    pub tag: u64,
    /// Word that the sender has added.
    pub data: Option<u64>,
    /// Bytes.
    pub length: usize,
}

/// Match data of a receive.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// Source of the messages; `None`: any.
    pub source: Option<Source>,
    /// The tag.
    pub tag: u64,
    /// Ignored bits of the tag.
    pub ignore: u64,
}

/// Match data of a message, and of the probe that has claimed it the context, which is an address, and the number for traces.
type Claimable = (Envelope, Option<(usize, u32)>);

impl table::Pattern for Pattern {
    type Data = Claimable;
    type Match = ();

    fn matches(&self, &(message, claimed): &Claimable) -> Option<()> {
        let takes = claimed.is_none()
            && (self.tag ^ message.tag) & !self.ignore == 0
            && self.source.is_none_or(|source| source == message.source);
        takes.then_some(())
    }
}

/// A posted receive.
#[derive(Debug)]
pub struct Posted {
    /// Its context, an address.
    pub context: usize,
    /// Whether it asks for a completion.
    pub wants: bool,
    /// Its number for traces.
    pub number: u32,
    /// Place for messages.
    pub buffer: Buffer,
}

/// Data of a message without a receive.
pub enum Body {
    /// Held here.
    Here(Box<[u8]>),
    /// Held here, in memory that the DMA engine has written.
    Landed(Staging),
    /// Arriving in memory of the provider.
    Coming,
    /// At its origin (rendezvous).
    AtOrigin(DeferredReceive<RemotePlatform>),
    /// Lost.
    Lost,
}

/// A message that was kept, with the place for its data.
pub type Kept = (Landing, Envelope, Body);

/// Receives and messages of one kind that have not found each other.
#[derive(Default)]
pub struct Matcher {
    table: MatchTable<Pattern, Posted, Landing, Body>,
}

impl Matcher {
    /// The place for an arriving message, if a receive waits for it. Also returns how many were compared.
    pub fn arrive(&mut self, message: &Envelope, least_room: usize) -> (u64, Option<Landing>) {
        let (attempts, found) = self.table.arrive(&(*message, None));
        let landing = found.and_then(|(place, ())| {
            let posted = self.table.posted_at(place)?;
            let (landing, last) = posted.claim(message.length, least_room);
            if last {
                self.table.take_posted(place);
            }
            Some(landing)
        });
        (attempts, landing)
    }

    /// Keeps a message without a receive; returns its number.
    pub fn keep(&mut self, envelope: Envelope, body: Body) -> u64 {
        let ready = !matches!(body, Body::Coming);
        self.table.insert((envelope, None), body, ready, None)
    }

    /// Sets the data of a kept message. Returns the message if a receive has been posted for it meanwhile.
    pub fn settle(&mut self, number: u64, body: Body) -> Option<Kept> {
        self.table.ready(number, body).map(kept)
    }

    /// The first message that matches. Also returns how many were looked at, with those that have a receive.
    fn first(&self, pattern: &Pattern) -> (u64, Option<usize>) {
        let place = self.table.find(pattern).1.map(|(place, ())| place);
        let looked = place.map_or(self.table.undelivered(), |place| place + 1);
        (looked as u64, place)
    }

    /// The message that a receive would take. Also returns how many were looked at.
    pub fn probe(&self, pattern: &Pattern) -> (u64, Option<Envelope>) {
        let (looked, place) = self.first(pattern);
        let found = place.and_then(|place| self.table.data_at(place));
        (looked, found.map(|(envelope, _)| *envelope))
    }

    /// Claims the message that a receive would take: no other receive gets it.
    pub fn claim(&mut self, pattern: &Pattern, (context, number): (usize, u32)) {
        if let (_, Some(place)) = self.first(pattern)
            && let Some((_, claimed)) = self.table.data_at_mut(place)
        {
            *claimed = Some((context, number));
        }
    }

    /// Posts a receive: returns the messages that it takes and that are here, or it waits.
    pub fn post(
        &mut self,
        pattern: Pattern,
        mut posted: Posted,
        least_room: usize,
    ) -> (u64, Vec<Kept>) {
        let mut found = Vec::new();
        let mut looked = 0;
        loop {
            let (attempts, place) = self.first(&pattern);
            looked += attempts;
            let message = place.and_then(|at| Some((at, self.table.data_at(at)?.0.length)));
            let Some((place, length)) = message else {
                self.table.post(posted.context as u64, pattern, posted);
                return (looked, found);
            };
            let (landing, last) = posted.claim(length, least_room);
            found.extend(self.give(place, landing));
            if last {
                return (looked, found);
            }
        }
    }

    /// Takes the message that a probe has claimed with `context`.
    pub fn take_claimed(&mut self, context: usize, mut landing: Landing) -> Option<Vec<Kept>> {
        let place = self.claimed(context)?;
        let (_, number) = self.table.data_at_mut(place)?.1.take()?;
        landing.number = number;
        Some(self.give(place, landing).into_iter().collect())
    }

    /// Drops the message that a probe has claimed with `context`, or else the first that the pattern matches.
    pub fn discard(&mut self, context: usize, pattern: &Pattern) -> Option<Body> {
        let place = self.claimed(context).or_else(|| self.first(pattern).1)?;
        self.table.drop_at(place)
    }

    /// Place of the message that a probe has claimed with `context`.
    fn claimed(&self, context: usize) -> Option<usize> {
        let claimed = |(_, claimed): &Claimable| claimed.is_some_and(|(by, _)| by == context);
        self.table.position(claimed)
    }

    /// Gives a message to its receive; an arriving one waits for the rest of it.
    fn give(&mut self, place: usize, landing: Landing) -> Option<Kept> {
        match self.table.give(place, landing)? {
            (number, true) => self.table.take_matched(number).map(kept),
            _ => None,
        }
    }

    /// Whether a receive waits for a message, other than buffers for any number of them.
    pub fn expects(&self) -> bool {
        let one = |posted: &Posted| matches!(posted.buffer, Buffer::One(_));
        self.table.posted().any(one)
    }

    /// Cancels the last waiting receive with this context.
    pub fn cancel(&mut self, context: usize) -> Option<Posted> {
        self.table.cancel(context as u64).1
    }
}

impl Posted {
    /// The place for its next message, of `bytes` bytes, and whether it is the last.
    fn claim(&mut self, bytes: usize, least_room: usize) -> (Landing, bool) {
        let receive = (self.context, self.wants, self.number);
        self.buffer.claim(receive, bytes, least_room)
    }
}

fn kept(pair: table::Pair<Claimable, Body, Landing>) -> Kept {
    (pair.taker, pair.data.0, pair.message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::destination::Piece;

    const NO_LEAST: usize = 1;

    fn envelope(task: u32, tag: u64, length: usize) -> Envelope {
        Envelope {
            source: (TaskId(task), 0),
            tag,
            data: None,
            length,
        }
    }

    fn any(tag: u64, ignore: u64) -> Pattern {
        Pattern {
            source: None,
            tag,
            ignore,
        }
    }

    fn posted(context: usize, bytes: usize) -> Posted {
        let address = 0x1000;
        Posted {
            context,
            wants: true,
            number: 0,
            buffer: Buffer::One(vec![Piece { address, bytes }]),
        }
    }

    fn here(bytes: usize) -> Body {
        Body::Here(vec![0; bytes].into())
    }

    /// Context of the receive that takes the message, if one waits.
    fn arrive(matcher: &mut Matcher, message: &Envelope) -> Option<usize> {
        let (_, landing) = matcher.arrive(message, NO_LEAST);
        landing.map(|landing| landing.context)
    }

    /// Tag of the message that the receive takes, if one is there.
    fn post(matcher: &mut Matcher, context: usize, pattern: Pattern, bytes: usize) -> Option<u64> {
        let (_, found) = matcher.post(pattern, posted(context, bytes), NO_LEAST);
        found.first().map(|(_, envelope, _)| envelope.tag)
    }

    #[test]
    fn x6_receives_match_in_post_order_by_source_tag_and_mask() {
        let mut matcher = Matcher::default();
        let of_task_2 = Pattern {
            source: Some((TaskId(2), 0)),
            ..any(7, 0)
        };
        for (context, pattern) in [
            (1, of_task_2),
            (2, any(7, 0)),
            (3, any(0x70, 0xf)),
            (4, any(7, 0)),
        ] {
            assert_eq!(post(&mut matcher, context, pattern, 8), None);
            assert!(matcher.expects());
        }
        assert_eq!(arrive(&mut matcher, &envelope(1, 7, 8)), Some(2));
        assert_eq!(arrive(&mut matcher, &envelope(2, 7, 8)), Some(1));
        assert_eq!(arrive(&mut matcher, &envelope(2, 0x7c, 8)), Some(3));
        assert_eq!(arrive(&mut matcher, &envelope(1, 8, 8)), None);
        assert_eq!(arrive(&mut matcher, &envelope(5, 7, 8)), Some(4));
        assert_eq!(arrive(&mut matcher, &envelope(5, 7, 8)), None);
    }

    #[test]
    fn x6_unexpected_messages_match_in_order_of_arrival() {
        let mut matcher = Matcher::default();
        for tag in [1, 2, 3] {
            matcher.keep(envelope(0, tag, 4), here(4));
        }
        assert_eq!(post(&mut matcher, 1, any(2, 0), 4), Some(2));
        assert_eq!(post(&mut matcher, 2, any(0, !0), 4), Some(1));
        assert_eq!(post(&mut matcher, 3, any(9, 0), 4), None);
        assert_eq!(post(&mut matcher, 4, any(0, !0), 4), Some(3));
        assert_eq!(matcher.cancel(3).map(|taken| taken.context), Some(3));
        assert!(matcher.cancel(3).is_none());
    }

    #[test]
    fn x6_an_arriving_message_ends_at_a_later_receive() {
        let mut matcher = Matcher::default();
        let first = matcher.keep(envelope(0, 1, 4), Body::Coming);
        let second = matcher.keep(envelope(0, 1, 4), Body::Coming);
        assert_eq!(post(&mut matcher, 7, any(1, 0), 4), None);
        // The second has no receive yet, the first is not the next receive's.
        assert!(matcher.settle(second, here(4)).is_none());
        assert_eq!(
            matcher.probe(&any(1, 0)).1.map(|found| found.length),
            Some(4)
        );
        let (landing, ..) = matcher.settle(first, here(4)).expect("it is wanted");
        assert_eq!(landing.context, 7);
        assert_eq!(post(&mut matcher, 8, any(1, 0), 4), Some(1));
        assert_eq!(post(&mut matcher, 9, any(1, 0), 4), None);
    }

    #[test]
    fn x6_a_claimed_message_goes_only_to_its_claim() {
        let mut matcher = Matcher::default();
        matcher.keep(envelope(0, 1, 4), here(4));
        matcher.claim(&any(1, 0), (5, 0));
        assert_eq!(post(&mut matcher, 6, any(1, 0), 4), None);
        assert_eq!(matcher.probe(&any(1, 0)).1.map(|found| found.tag), None);
        let landing = || Landing::new((5, true, 0), Vec::new());
        assert!(matcher.take_claimed(4, landing()).is_none());
        assert_eq!(
            matcher.take_claimed(5, landing()).map(|found| found.len()),
            Some(1)
        );
        assert!(matcher.take_claimed(5, landing()).is_none());
    }

    #[test]
    fn x6_a_multi_receive_buffer_ends_with_its_last_message() {
        let mut matcher = Matcher::default();
        let left = Piece {
            address: 0x1000,
            bytes: 32,
        };
        let buffer = Buffer::Many {
            left,
            multi: Arc::default(),
        };
        let (_, none) = matcher.post(
            any(0, !0),
            Posted {
                buffer,
                ..posted(1, 0)
            },
            16,
        );
        assert!(none.is_empty());
        assert!(!matcher.expects());
        let landings: Vec<Landing> = [5, 4]
            .into_iter()
            .filter_map(|length| matcher.arrive(&envelope(0, 0, length), 16).1)
            .collect();
        let places: Vec<_> = landings.iter().map(Landing::address).collect();
        assert_eq!(places, [0x1000, 0x1008]);
        // 16 bytes are left, as many as there must be.
        let last = matcher.arrive(&envelope(0, 0, 16), 16).1.expect("room");
        assert_eq!(last.address(), 0x1010);
        assert!(matcher.arrive(&envelope(0, 0, 1), 16).1.is_none());
        // The buffer is whole again when all three have ended, in whatever order.
        assert!(!last.ends());
        assert!(!landings[1].ends());
        assert!(landings[0].ends());
    }
}
