// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of route negotiation between the nodes of a tree. All numbers are little-endian, without gaps.

use gyre_driver::{CollnetChoice, CollnetShare, Context, Endpoint, Error as DriverError, Platform};
use gyre_driver::{RoutePart, TaskId};

/// Byte 2 of a message: no form of a collective's message.
const FORM: u8 = 15;

/// A node of a tree, as its descendants know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Above {
    /// Endpoint that acts for the node.
    pub endpoint: Endpoint,
    /// Its part of the routes.
    pub part: RoutePart,
    /// Endpoints of the geometry on it.
    pub locals: u16,
    /// Whether it is the second child of its parent.
    pub second: bool,
}

/// Origin of a message from a node below or from an endpoint of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Below {
    Child(u8),
    Local,
}

/// Content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Says {
    /// The subtree requests routes and has this share free; carries the receiver and the nodes above it.
    Join {
        from: Below,
        share: CollnetShare,
        above: Vec<Above>,
    },
    /// Take these routes instead of the previous choice.
    Take(CollnetChoice),
    /// Whether the subtree has taken them.
    Took { all: bool },
    /// Final choice of routes.
    Decided(CollnetChoice),
    /// The subtree has released its routes.
    Leave(Below),
    /// Clear the routes.
    Free,
}

/// Message of agreement number `round` of a geometry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub geometry: u16,
    pub round: u32,
    pub says: Says,
}

impl Notice {
    /// Whether bytes are a message of a negotiation rather than of a collective.
    pub fn is(bytes: &[u8]) -> bool {
        bytes.get(2) == Some(&FORM)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.geometry.to_le_bytes().to_vec();
        bytes.push(FORM);
        bytes.extend(self.round.to_le_bytes());
        match &self.says {
            Says::Join { from, share, above } => {
                bytes.extend([0, from.code()]);
                for word in [share.class, share.barrier, share.windows] {
                    bytes.extend(word.to_le_bytes());
                }
                for node in above {
                    bytes.extend(node.endpoint.task().0.to_le_bytes());
                    bytes.extend([node.endpoint.context_offset(), node.bits()]);
                    bytes.extend(node.locals.to_le_bytes());
                }
            }
            Says::Take(choice) => bytes.extend(encode_choice(1, choice)),
            Says::Took { all } => bytes.extend([2, u8::from(*all)]),
            Says::Decided(choice) => bytes.extend(encode_choice(3, choice)),
            Says::Leave(from) => bytes.extend([4, from.code()]),
            Says::Free => bytes.push(5),
        }
        bytes
    }

    /// # Errors
    /// [`DriverError::ControlMessage`] for malformed bytes; errors of unknown endpoints.
    pub fn decode<P: Platform>(
        context: &Context<P>,
        bytes: &[u8],
        origin: TaskId,
    ) -> Result<Self, DriverError> {
        let wrong = || DriverError::ControlMessage {
            origin,
            message: "message about routes of the collective network",
            field: "length",
            value: bytes.len() as u64,
            expected: "that of its kind",
        };
        let mut rest = bytes;
        let mut take = |width: usize| {
            let (field, tail) = rest.split_at_checked(width).ok_or_else(wrong)?;
            rest = tail;
            let mut value = [0; 8];
            value[..width].copy_from_slice(field);
            Ok::<u64, DriverError>(u64::from_le_bytes(value))
        };
        // Each value fits the width it was read with.
        let geometry = take(2)? as u16;
        take(1)?;
        let round = take(4)? as u32;
        let says = match take(1)? {
            0 => {
                let from = Below::of(take(1)? as u8);
                let share = CollnetShare {
                    class: take(2)? as u16,
                    barrier: take(2)? as u16,
                    windows: take(2)? as u16,
                };
                let mut above = Vec::new();
                for _ in 0..(bytes.len() - JOIN_BYTES) / ABOVE_BYTES {
                    let task = TaskId(take(4)? as u32);
                    let endpoint = context.endpoint(task, take(1)? as u8)?;
                    let bits = take(1)?;
                    above.push(Above {
                        endpoint,
                        part: RoutePart {
                            parent: bits & 1 != 0,
                            children: [bits & 2 != 0, bits & 4 != 0],
                            member: bits & 8 != 0,
                        },
                        second: bits & 16 != 0,
                        locals: take(2)? as u16,
                    });
                }
                if above.is_empty() {
                    return Err(wrong());
                }
                Says::Join { from, share, above }
            }
            1 => Says::Take(decode_choice(take(5)?)),
            2 => Says::Took { all: take(1)? != 0 },
            3 => Says::Decided(decode_choice(take(5)?)),
            4 => Says::Leave(Below::of(take(1)? as u8)),
            5 => Says::Free,
            kind => {
                return Err(DriverError::ControlMessage {
                    origin,
                    message: "message about routes of the collective network",
                    field: "kind",
                    value: kind,
                    expected: "0 to 5",
                });
            }
        };
        match rest {
            [] => Ok(Self {
                geometry,
                round,
                says,
            }),
            _ => Err(wrong()),
        }
    }
}

/// Bytes of a join without the nodes above, and of each node above.
const JOIN_BYTES: usize = 15;
const ABOVE_BYTES: usize = 8;

impl Above {
    fn bits(&self) -> u8 {
        u8::from(self.part.parent)
            | u8::from(self.part.children[0]) << 1
            | u8::from(self.part.children[1]) << 2
            | u8::from(self.part.member) << 3
            | u8::from(self.second) << 4
    }
}

impl Below {
    fn code(self) -> u8 {
        match self {
            Self::Child(child) => child,
            Self::Local => 2,
        }
    }

    fn of(code: u8) -> Self {
        match code {
            0 | 1 => Self::Child(code),
            _ => Self::Local,
        }
    }
}

/// Kind, then both class routes, barrier route (16: none), windows.
fn encode_choice(kind: u8, choice: &CollnetChoice) -> [u8; 6] {
    let [low, high] = choice.windows.to_le_bytes();
    [
        kind,
        choice.class.unwrap_or(16),
        choice.second.unwrap_or(16),
        choice.barrier.unwrap_or(16),
        low,
        high,
    ]
}

fn decode_choice(word: u64) -> CollnetChoice {
    let [class, second, barrier, low, high, ..] = word.to_le_bytes();
    let route = |code: u8| (code < 16).then_some(code);
    CollnetChoice {
        class: route(class),
        second: route(second),
        barrier: route(barrier),
        windows: u16::from_le_bytes([low, high]),
    }
}
