//! Matching: receives and messages that have not found each other, in the order in which they came.

use std::collections::VecDeque;

use gyre_driver::{DeferredReceive, TaskId};
use gyre_remote::RemotePlatform;
use pami::staging::Staging;

use crate::landing::{Buffer, Landing};

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

/// Which messages a receive takes.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// From whom; `None`: anybody.
    pub source: Option<Source>,
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
    /// Contents of its first packet.
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

    /// Whether a receive waits for a message, other than buffers for any number of them.
    pub fn expects(&self) -> bool {
        let one = |posted: &Posted| matches!(posted.buffer, Buffer::One(_));
        self.posted.iter().any(one)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::landing::Piece;

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

    fn posted(context: usize, pattern: Pattern, bytes: usize) -> Posted {
        let address = 0x1000;
        Posted {
            pattern,
            context,
            wants: true,
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
    fn post(matcher: &mut Matcher, posted: Posted) -> Option<u64> {
        let (_, found) = matcher.post(posted, NO_LEAST);
        found.first().map(|(_, kept)| kept.envelope.tag)
    }

    #[test]
    fn x6_receives_are_taken_in_the_order_of_their_posts_by_source_tag_and_mask() {
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
            assert_eq!(post(&mut matcher, posted(context, pattern, 8)), None);
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
    fn x6_messages_without_a_receive_are_taken_in_the_order_in_which_they_came() {
        let mut matcher = Matcher::default();
        for tag in [1, 2, 3] {
            matcher.keep(envelope(0, tag, 4), here(4));
        }
        assert_eq!(post(&mut matcher, posted(1, any(2, 0), 4)), Some(2));
        assert_eq!(post(&mut matcher, posted(2, any(0, !0), 4)), Some(1));
        assert_eq!(post(&mut matcher, posted(3, any(9, 0), 4)), None);
        assert_eq!(post(&mut matcher, posted(4, any(0, !0), 4)), Some(3));
        assert_eq!(matcher.cancel(3).map(|taken| taken.context), Some(3));
        assert!(matcher.cancel(3).is_none());
    }

    #[test]
    fn x6_a_message_that_is_still_coming_ends_at_the_receive_posted_meanwhile() {
        let mut matcher = Matcher::default();
        let first = matcher.keep(envelope(0, 1, 4), Body::Coming(None));
        let second = matcher.keep(envelope(0, 1, 4), Body::Coming(None));
        assert_eq!(post(&mut matcher, posted(7, any(1, 0), 4)), None);
        // The second has no receive yet, the first is not the next receive's.
        assert!(matcher.settle(second, here(4)).is_none());
        assert_eq!(
            matcher.probe(&any(1, 0)).1.map(|found| found.length),
            Some(4)
        );
        let (landing, _) = matcher.settle(first, here(4)).expect("it is wanted");
        assert_eq!(landing.context, 7);
        assert_eq!(post(&mut matcher, posted(8, any(1, 0), 4)), Some(1));
        assert_eq!(post(&mut matcher, posted(9, any(1, 0), 4)), None);
    }

    #[test]
    fn x6_a_claimed_message_is_of_who_has_claimed_it() {
        let mut matcher = Matcher::default();
        matcher.keep(envelope(0, 1, 4), here(4));
        matcher.claim(&any(1, 0), 5);
        assert_eq!(post(&mut matcher, posted(6, any(1, 0), 4)), None);
        assert_eq!(matcher.probe(&any(1, 0)).1.map(|found| found.tag), None);
        let landing = || Landing::new(5, true, Vec::new());
        assert!(matcher.take_claimed(4, landing()).is_none());
        assert_eq!(
            matcher.take_claimed(5, landing()).map(|found| found.len()),
            Some(1)
        );
        assert!(matcher.take_claimed(5, landing()).is_none());
    }

    #[test]
    fn x6_a_multi_receive_buffer_is_given_back_when_its_last_message_has_ended() {
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
            Posted {
                buffer,
                ..posted(1, any(0, !0), 0)
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
