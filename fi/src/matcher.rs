//! Matching: receives and messages that have not found each other, in the order in which they came.

use std::collections::VecDeque;

use gyre_driver::{DeferredReceive, Endpoint};
use gyre_remote::RemotePlatform;
use pami::staging::Staging;

use crate::landing::{Buffer, Landing};

/// What is known of a message when its first packet has come.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    /// Who sent it.
    pub source: Endpoint,
    /// Its tag.
    pub tag: u64,
    /// What the sender has given along.
    pub data: Option<u64>,
    /// Bytes.
    pub length: usize,
}

/// Which messages a receive takes.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// From whom; `None`: anybody.
    pub source: Option<Endpoint>,
    /// The tag.
    pub tag: u64,
    /// Bits of the tag that may be anything.
    pub ignore: u64,
}

impl Pattern {
    /// Whether it takes the message.
    pub fn takes(&self, message: &Envelope) -> bool {
        (self.tag ^ message.tag) & !self.ignore == 0
            && self.source.is_none_or(|source| source == message.source)
    }
}

/// A receive that waits.
#[derive(Debug)]
pub struct Posted {
    /// Which messages it takes.
    pub pattern: Pattern,
    /// Its context, an address.
    pub context: usize,
    /// Whether it asks for a completion.
    pub wants: bool,
    /// Where messages go.
    pub buffer: Buffer,
}

/// Where the data of a message without a receive is.
pub enum Body {
    /// Here.
    Here(Box<[u8]>),
    /// Here, in memory that the DMA engine has written.
    Landed(Staging),
    /// On its way into memory of ours; where the receive that has been posted meanwhile wants it.
    Coming(Option<Landing>),
    /// At its origin (rendezvous).
    AtOrigin(DeferredReceive<RemotePlatform>),
    /// Nowhere.
    Lost,
}

/// A message that waits for its receive.
pub struct Unexpected {
    number: u64,
    /// What is known of it.
    pub envelope: Envelope,
    /// Its data.
    pub body: Body,
    /// Context of the probe that has claimed it: an address.
    claimed: Option<usize>,
}

/// Receives and messages of one kind that have not found each other.
#[derive(Default)]
pub struct Matcher {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Unexpected>,
    numbers: u64,
}

impl Matcher {
    /// The place of a message that has come, if a receive waits for it, and how many were looked at.
    pub fn arrive(&mut self, message: &Envelope, least_room: usize) -> (u64, Option<Landing>) {
        let found = self
            .posted
            .iter()
            .position(|posted| posted.pattern.takes(message));
        let Some(place) = found else {
            return (self.posted.len() as u64, None);
        };
        let posted = &mut self.posted[place];
        let receive = (posted.context, posted.wants);
        let (landing, last) = posted.buffer.claim(receive, message.length, least_room);
        if last {
            self.posted.remove(place);
        }
        (place as u64 + 1, Some(landing))
    }

    /// Keeps a message that no receive waits for: its number.
    pub fn keep(&mut self, envelope: Envelope, body: Body) -> u64 {
        self.numbers += 1;
        self.unexpected.push_back(Unexpected {
            number: self.numbers,
            envelope,
            body,
            claimed: None,
        });
        self.numbers
    }

    /// Sets where the data of a message is that was kept. Says where it is wanted if a receive has come for it meanwhile.
    pub fn settle(&mut self, number: u64, body: Body) -> Option<(Landing, Unexpected)> {
        let place = self
            .unexpected
            .iter()
            .position(|kept| kept.number == number)?;
        let kept = &mut self.unexpected[place];
        let before = std::mem::replace(&mut kept.body, body);
        let Body::Coming(Some(landing)) = before else {
            return None;
        };
        let kept = self.unexpected.remove(place)?;
        Some((landing, kept))
    }

    /// The first message that a receive takes, and how many were looked at.
    fn first(&self, pattern: &Pattern) -> (u64, Option<usize>) {
        let open = |kept: &Unexpected| {
            kept.claimed.is_none()
                && !matches!(kept.body, Body::Coming(Some(_)))
                && pattern.takes(&kept.envelope)
        };
        match self.unexpected.iter().position(open) {
            Some(place) => (place as u64 + 1, Some(place)),
            None => (self.unexpected.len() as u64, None),
        }
    }

    /// Whether a message waits that a receive would take: what is known of it.
    pub fn probe(&self, pattern: &Pattern) -> (u64, Option<Envelope>) {
        let (attempts, place) = self.first(pattern);
        (attempts, place.map(|place| self.unexpected[place].envelope))
    }

    /// The same, and no other receive gets it any more.
    pub fn claim(&mut self, pattern: &Pattern, context: usize) {
        if let (_, Some(place)) = self.first(pattern) {
            self.unexpected[place].claimed = Some(context);
        }
    }

    /// A receive is posted: with a message that is there and its place, or it waits.
    pub fn post(
        &mut self,
        mut posted: Posted,
        least_room: usize,
    ) -> (u64, Vec<(Landing, Unexpected)>) {
        let mut found = Vec::new();
        let mut looked = 0;
        loop {
            let (attempts, place) = self.first(&posted.pattern);
            looked += attempts;
            let Some(place) = place else {
                self.posted.push_back(posted);
                return (looked, found);
            };
            let receive = (posted.context, posted.wants);
            let length = self.unexpected[place].envelope.length;
            let (landing, last) = posted.buffer.claim(receive, length, least_room);
            found.extend(self.give(place, landing));
            if last {
                return (looked, found);
            }
        }
    }

    /// Takes the message that a probe has claimed with `context`.
    pub fn take_claimed(
        &mut self,
        context: usize,
        landing: Landing,
    ) -> Option<Vec<(Landing, Unexpected)>> {
        let claimed = |kept: &Unexpected| kept.claimed == Some(context);
        let place = self.unexpected.iter().position(claimed)?;
        self.unexpected[place].claimed = None;
        Some(self.give(place, landing).into_iter().collect())
    }

    /// Drops the message that a probe has claimed with `context`, or else the first that the pattern takes.
    pub fn discard(&mut self, context: usize, pattern: &Pattern) -> Option<Unexpected> {
        let claimed = |kept: &Unexpected| kept.claimed == Some(context);
        let place = self.unexpected.iter().position(claimed);
        let place = place.or_else(|| self.first(pattern).1)?;
        self.unexpected.remove(place)
    }

    /// Gives a message to its receive; one that is still coming waits for the rest of it.
    fn give(&mut self, place: usize, landing: Landing) -> Option<(Landing, Unexpected)> {
        if let Body::Coming(wanted) = &mut self.unexpected[place].body {
            *wanted = Some(landing);
            return None;
        }
        self.unexpected.remove(place).map(|kept| (landing, kept))
    }

    /// Takes back the last receive with this context that waits.
    pub fn cancel(&mut self, context: usize) -> Option<Posted> {
        let place = self
            .posted
            .iter()
            .rposition(|posted| posted.context == context)?;
        self.posted.remove(place)
    }
}
