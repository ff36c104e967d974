// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of a context to contexts of its node through shared memory: the counterpart of an injection FIFO.

use std::collections::{BTreeMap, VecDeque};

use gyre_layout::{Header, Kind, MAX_PAYLOAD_BYTES, VClass};

use super::ring::{Outbox, Pushed};
use super::table::EndpointTable;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::layout::ClientLayout;
use crate::platform::Platform;
use crate::sync::Arc;
use crate::transport::injection::{Completed, Finish, Payload};

/// A message for a context of the node.
pub(crate) struct Message<P: Platform> {
    /// Software words of its packets.
    pub software: [u32; 2],
    pub payload: Payload<P>,
    pub finish: Finish,
}

impl<P: Platform> Message<P> {
    /// Copies bytes from `offset` on out of the payload.
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), Fault> {
        match &self.payload {
            Payload::Data(data) | Payload::Kept(data) => Ok(data.read(offset, out)?),
            Payload::Staged(bytes) => {
                out.copy_from_slice(&bytes[offset..offset + out.len()]);
                Ok(())
            }
            Payload::Inside => Ok(()),
        }
    }
}

/// A context of the node that has been sent to.
struct Peer<P: Platform> {
    endpoint: Endpoint,
    fifo: u16,
    ring: Option<Outbox<P>>,
    waiting: VecDeque<Message<P>>,
    /// Bytes of the first waiting message that are in the ring; `None` when none of its packets are.
    sent: Option<usize>,
    /// There was no room for the next packet at the last try.
    full: bool,
}

/// The lane.
pub(crate) struct SharedLane<P: Platform> {
    table: Arc<EndpointTable<P>>,
    layout: Arc<ClientLayout>,
    /// The wake group of the context.
    group: u8,
    peers: BTreeMap<u16, Peer<P>>,
}

impl<P: Platform> SharedLane<P> {
    /// The lane of a context that wakes by `group`.
    pub fn new(layout: &Arc<ClientLayout>, table: &Arc<EndpointTable<P>>, group: u8) -> Self {
        Self {
            table: Arc::clone(table),
            layout: Arc::clone(layout),
            group,
            peers: BTreeMap::new(),
        }
    }

    /// Messages that are not completely in a ring.
    pub fn waiting(&self) -> usize {
        self.peers.values().map(|peer| peer.waiting.len()).sum()
    }

    /// Whether a message waits for room in a ring.
    pub fn blocked(&self) -> bool {
        self.peers.values().any(|peer| peer.full)
    }

    /// Puts a message behind those that wait for `endpoint`, context `index` of the node with reception
    /// FIFO `fifo`.
    pub fn enqueue(&mut self, endpoint: Endpoint, index: u16, fifo: u16, message: Message<P>) {
        let peer = self.peers.entry(index).or_insert_with(|| Peer {
            endpoint,
            fifo,
            ring: None,
            waiting: VecDeque::new(),
            sent: None,
            full: false,
        });
        peer.waiting.push_back(message);
    }

    /// Writes waiting messages to the rings as far as there is room. Complete and failed messages go to `completed`.
    /// Returns how many.
    pub fn start(&mut self, platform: &P, completed: &mut Vec<Completed>) -> usize {
        let before = completed.len();
        for (&index, peer) in &mut self.peers {
            peer.full = false;
            while let Some(message) = peer.waiting.front() {
                let ring = match &peer.ring {
                    Some(ring) => ring,
                    None => match find(platform, &self.layout, &self.table, index) {
                        Ok(Some(ring)) => peer.ring.insert(ring),
                        Ok(None) => {
                            peer.fail(completed);
                            continue;
                        }
                        Err(error) => {
                            peer.end(Err(error), completed);
                            continue;
                        }
                    },
                };
                let sent = peer.sent.unwrap_or(0);
                let length = message.payload.len();
                let bytes = (length - sent).min(MAX_PAYLOAD_BYTES);
                let header = Header {
                    dst: self.layout.location.node,
                    vclass: VClass::Request,
                    src: self.layout.location.node,
                    deposit: false,
                    dynamic_route: false,
                    kind: Kind::MemFifo,
                    // At most 512.
                    len: bytes as u16,
                    hint: 0,
                    order: 0,
                    flow: None,
                    first: peer.sent.is_none(),
                    last: sent + bytes == length,
                    // Modulo 2^16.
                    seq: (sent / MAX_PAYLOAD_BYTES % 1024) as u16,
                    target: peer.fifo,
                    // Lengths were checked when the message was posted.
                    offset: sent as u32,
                    aux: length as u32,
                    sw0: message.software[0],
                    sw1: message.software[1],
                };
                let mut payload = [0; MAX_PAYLOAD_BYTES];
                let pushed = message
                    .read(sent, &mut payload[..bytes])
                    .and_then(|()| ring.push(platform, &header, &payload[..bytes], self.group));
                match pushed {
                    Ok(Pushed::Done) if header.last => peer.end(Ok(()), completed),
                    Ok(Pushed::Done) => peer.sent = Some(sent + bytes),
                    Ok(Pushed::Full) => {
                        peer.full = true;
                        break;
                    }
                    Err(error) => peer.end(Err(error), completed),
                    Ok(Pushed::Closed) => {
                        peer.ring = None;
                        // Its first packets went to a destroyed context.
                        if peer.sent.is_some() {
                            peer.fail(completed);
                        }
                    }
                }
            }
        }
        completed.len() - before
    }
}

/// The ring of context `index` of the node, if the context is open.
fn find<P: Platform>(
    platform: &P,
    layout: &ClientLayout,
    table: &EndpointTable<P>,
    index: u16,
) -> Result<Option<Outbox<P>>, Fault> {
    let Some(info) = table.find(platform, index)? else {
        return Ok(None);
    };
    let size = layout.config.resources.shared_ring;
    Outbox::find(platform, layout.config.id, index, size, info.wake_group).map(Some)
}

impl<P: Platform> Peer<P> {
    /// Ends the first waiting message.
    fn end(&mut self, result: Result<(), Fault>, completed: &mut Vec<Completed>) {
        self.sent = None;
        if let Some(message) = self.waiting.pop_front() {
            completed.push(Completed {
                finish: message.finish,
                result,
            });
        }
    }

    /// Ends the first waiting message, whose context does not exist.
    fn fail(&mut self, completed: &mut Vec<Completed>) {
        let error = Error::ContextNotOpen {
            task: self.endpoint.task,
            offset: self.endpoint.context,
        };
        self.end(Err(error.into()), completed);
    }
}
