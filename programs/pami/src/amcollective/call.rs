// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of active-message collectives: a call from an endpoint to a child in the tree, and the answer of the child when its
//! whole subtree has done its part.

use gyre_driver::MAX_HEADER;
use serde::{Deserialize, Serialize};

use crate::abi::{ResultCode, XferType};
use crate::amcollective::tree::Tree;
use crate::elements::Element;
use crate::failure::Failure;
use crate::operations::Operation;

/// Most bytes of a failure's text in an answer.
const TEXT: usize = MAX_HEADER / 2;

/// A kind of active-message collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// `PAMI_XFER_AMBROADCAST`
    Broadcast,
    /// `PAMI_XFER_AMSCATTER`
    Scatter,
    /// `PAMI_XFER_AMGATHER`
    Gather,
    /// `PAMI_XFER_AMREDUCE`
    Reduce,
}

impl Kind {
    /// The active-message kind of a collective; `None` for one that all endpoints call.
    pub fn of(kind: XferType) -> Option<Self> {
        Some(match kind {
            XferType::AMBROADCAST => Self::Broadcast,
            XferType::AMSCATTER => Self::Scatter,
            XferType::AMGATHER => Self::Gather,
            XferType::AMREDUCE => Self::Reduce,
            _ => return None,
        })
    }

    /// Name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "AMBROADCAST",
            Self::Scatter => "AMSCATTER",
            Self::Gather => "AMGATHER",
            Self::Reduce => "AMREDUCE",
        }
    }
}

/// Name of a pending collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// Number of the geometry.
    pub geometry: u16,
    /// Place of the root in the geometry's list.
    pub root: u32,
    /// Number of the root's collective.
    pub number: u32,
}

/// Header of a collective, sent to every endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The collective.
    pub key: Key,
    /// Its kind.
    pub kind: Kind,
    /// Place of the receiver in the tree.
    pub tree: Tree,
    /// Number of the dispatch.
    pub dispatch: u32,
    /// Bytes of the header of each endpoint.
    pub header: u64,
    /// Bytes of the data of each endpoint.
    pub bytes: u64,
    /// Numbers of operation and type that combine data on its way to the root; `None`: data is not combined.
    pub combined: Option<(u8, u8)>,
}

impl Call {
    /// Bytes that go to each endpoint: its header, and its data if that comes from the root.
    pub fn item(&self) -> usize {
        let data = match self.kind {
            Kind::Broadcast | Kind::Scatter => self.bytes,
            Kind::Gather | Kind::Reduce => 0,
        };
        self.header.saturating_add(data) as usize
    }

    /// Whether the same item goes to all endpoints.
    pub fn is_one_for_all(&self) -> bool {
        matches!(self.kind, Kind::Broadcast | Kind::Reduce)
    }

    /// Bytes of the items that go to `span` endpoints.
    pub fn items(&self, span: usize) -> usize {
        if self.is_one_for_all() {
            self.item()
        } else {
            self.item().saturating_mul(span)
        }
    }

    /// Bytes in the answer of `span` endpoints.
    pub fn answer(&self, span: usize) -> usize {
        let bytes = self.bytes as usize;
        match (self.kind, self.combined) {
            (Kind::Broadcast | Kind::Scatter, _) => 0,
            (Kind::Reduce, Some(_)) => bytes,
            (Kind::Gather | Kind::Reduce, _) => bytes.saturating_mul(span),
        }
    }

    /// Operation on data on its way.
    pub fn combination(&self) -> Option<(Operation, Element)> {
        let (operation, element) = self.combined?;
        let operation = Operation::of(usize::from(operation))?;
        Some((operation, Element::of(usize::from(element))?))
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The receiver and its subtree take part.
    Call(Call),
    /// The subtree has taken part.
    Answer {
        /// The collective.
        key: Key,
        /// Place of the sender in the tree.
        place: u32,
        /// Failure: a result code and a sentence.
        failure: Option<(i32, String)>,
    },
}

impl Message {
    /// An answer; a long text is truncated.
    pub fn answer(key: Key, place: u32, outcome: &Result<(), Failure>) -> Self {
        let failure = outcome.as_ref().err().map(|failure| {
            let mut text = failure.text.clone();
            text.truncate(text.floor_char_boundary(TEXT));
            (failure.code.0, text)
        });
        Self::Answer {
            key,
            place,
            failure,
        }
    }

    /// Encodes it as the header of a message of the driver.
    ///
    /// # Errors
    /// `PAMI_ERROR` when it cannot be written.
    pub fn encode(&self) -> Result<Vec<u8>, Failure> {
        postcard::to_stdvec(self).map_err(|error| Failure::error(error.to_string()))
    }

    /// Decodes a header; `None` if it is invalid.
    pub fn decode(header: &[u8]) -> Option<Self> {
        let message = postcard::from_bytes(header).ok()?;
        if let Self::Call(call) = &message {
            let Tree { members, place } = call.tree;
            (place < members && call.key.root < members).then_some(())?;
        }
        Some(message)
    }
}

/// The failure in an answer.
pub fn failure((code, text): (i32, String)) -> Failure {
    Failure {
        code: ResultCode(code),
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key {
        geometry: 1,
        root: 2,
        number: 3,
    };

    fn call(kind: Kind, combined: Option<(u8, u8)>) -> Call {
        Call {
            key: Key {
                geometry: u16::MAX,
                root: u32::MAX - 1,
                number: u32::MAX,
            },
            kind,
            tree: Tree::root(u32::MAX),
            dispatch: u32::MAX,
            header: 3,
            bytes: 40,
            combined,
        }
    }

    #[test]
    fn x6_messages_of_active_collectives_survive_being_headers_and_fit() {
        let long = Err(Failure::invalid("ä".repeat(4 * MAX_HEADER)));
        let call = Message::Call(call(Kind::Reduce, Some((u8::MAX, u8::MAX))));
        for message in [call, Message::answer(KEY, u32::MAX, &long)] {
            let header = message.encode().unwrap();
            assert!(header.len() <= MAX_HEADER, "{}", header.len());
            assert_eq!(Message::decode(&header), Some(message));
            assert_eq!(Message::decode(&header[..header.len() - 1]), None);
        }
    }

    #[test]
    fn x5_x6_calls_to_places_that_are_not_in_the_tree_make_no_sense() {
        let sound = call(Kind::Gather, None);
        let (mut root, mut place) = (sound, sound);
        root.key.root = u32::MAX;
        place.tree.place = u32::MAX;
        for (call, is_sound) in [(sound, true), (root, false), (place, false)] {
            let header = Message::Call(call).encode().unwrap();
            assert_eq!(Message::decode(&header).is_some(), is_sound, "{call:?}");
        }
    }

    #[test]
    fn x6_active_collectives_send_and_answer_what_their_kind_says() {
        let bytes = |kind, combined| {
            let call = call(kind, combined);
            (call.items(5), call.answer(5))
        };
        assert_eq!(bytes(Kind::Broadcast, None), (43, 0));
        assert_eq!(bytes(Kind::Scatter, None), (215, 0));
        assert_eq!(bytes(Kind::Gather, None), (15, 200));
        assert_eq!(bytes(Kind::Reduce, None), (3, 200));
        assert_eq!(bytes(Kind::Reduce, Some((5, 6))), (3, 40));
    }
}
