// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resources that packets hold and wait for.

use std::fmt;

use crate::torus::{MAX_DIMS, Torus};

/// Virtual-channel class of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Memory FIFO packets, remote gets, requests of read-modify-writes.
    Request,
    /// Direct puts and answers: the DMA engine takes them whatever else waits.
    Response,
    /// Urgent packets, in deterministic channels of their own.
    Priority,
    /// Packets of the system, in deterministic channels of their own.
    System,
}

impl Class {
    /// In the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Request, Self::Response, Self::Priority, Self::System];

    /// Whether its packets may travel in dynamic channels.
    pub fn dynamic(self) -> bool {
        matches!(self, Self::Request | Self::Response)
    }
}

/// Something that a packet holds while it waits for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Deterministic virtual channel of the link that leaves `node` by `port`, with its buffer at the other end.
    Channel {
        /// Where the link begins.
        node: usize,
        /// Port there.
        port: usize,
        /// Class of its packets.
        class: Class,
        /// Dateline channel, 0 or 1.
        dateline: usize,
    },
    /// Dynamic virtual channels of a link and class.
    Dynamic {
        /// Where the link begins.
        node: usize,
        /// Port there.
        port: usize,
        /// Class of its packets.
        class: Class,
    },
    /// Injection buffer of the packets of a class that leave `node` by `port`.
    Injection {
        /// Where they start.
        node: usize,
        /// Port by which they leave.
        port: usize,
        /// Class of its packets.
        class: Class,
    },
    /// Ejection buffer of the packets of a class that reach `node` by `port`, and what stands behind it.
    Ejection {
        /// Where they end.
        node: usize,
        /// Port by which they come.
        port: usize,
        /// Class of its packets.
        class: Class,
    },
    /// Places in which packets of ordered-dynamic flows to `node` wait for those before them.
    Reordering {
        /// Where they end.
        node: usize,
        /// Class of its packets.
        class: Class,
    },
    /// Executor of remote gets and read-modify-writes at `node`, which injects their answers.
    RemoteGet {
        /// Where it is.
        node: usize,
    },
}

impl Resource {
    /// The resource in words, with coordinates of `torus`.
    pub fn name(&self, torus: &Torus) -> String {
        match *self {
            Self::Channel {
                node,
                port,
                class,
                dateline,
            } => format!(
                "{class} channel {dateline} from {} by {}",
                place(torus, node),
                direction(port)
            ),
            Self::Dynamic { node, port, class } => format!(
                "dynamic {class} channel from {} by {}",
                place(torus, node),
                direction(port)
            ),
            Self::Injection { node, port, class } => format!(
                "{class} injection at {} for {}",
                place(torus, node),
                direction(port)
            ),
            Self::Ejection { node, port, class } => format!(
                "{class} ejection at {} from {}",
                place(torus, node),
                direction(port)
            ),
            Self::Reordering { node, class } => {
                format!("place of a {class} flow at {}", place(torus, node))
            }
            Self::RemoteGet { node } => format!("remote get at {}", place(torus, node)),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Priority => "priority",
            Self::System => "system",
        })
    }
}

/// Coordinates of a node: `(1,0,2)`.
pub(crate) fn place(torus: &Torus, node: usize) -> String {
    let coord: Vec<String> = torus.coord(node)[..torus.dims()]
        .iter()
        .map(u8::to_string)
        .collect();
    format!("({})", coord.join(","))
}

/// A port as dimension and sign: `+a`, `-b`.
fn direction(port: usize) -> String {
    const LETTERS: [char; MAX_DIMS] = ['a', 'b', 'c', 'd', 'e'];
    let sign = if port % 2 == 1 { '-' } else { '+' };
    format!("{sign}{}", LETTERS[port / 2])
}
