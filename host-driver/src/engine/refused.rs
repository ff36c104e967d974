//! Puts that the node of their target has refused.
//!
//! The hardware answers nothing to those: the node keeps who sent them and a software word. The word names the
//! two contexts and the put's number at its origin, so that the endpoint at which a put synchronisation or a
//! fence ends can tell whether it concerns the one or the other: it comes behind the puts, which have been
//! refused by then if they are. Nothing is kept for a peer before a put of it has been refused.
//!
//! Only where a node has refused more packets than it could keep nobody knows whose they were: then everybody
//! is told once.

use std::collections::{BTreeMap, BTreeSet};

use gyre_firmware::{RefusedPackets, Register};
use gyre_layout::registers::refusals;
use gyre_layout::{Coord, Kind};

use super::{Engine, deliver};
use crate::client::Plan;
use crate::context::{Context, Progress};
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::registers;
use crate::sync::short;
use crate::wire::{PutRefused, System};

/// Numbers of puts count modulo this. One less than the field could hold: words of different contexts never
/// follow each other.
const NUMBERS: u32 = (1 << 20) - 1;

/// The number of a put at its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PutNumber {
    /// Counts puts that are synchronised, and fences.
    number: u32,
    /// Only a fence will tell: such puts have the number of what was counted last before them.
    plain: bool,
}

impl PutNumber {
    /// The number alone.
    pub fn get(self) -> u32 {
        self.number
    }

    fn next(self) -> Self {
        Self {
            number: (self.number + 1) % NUMBERS,
            plain: false,
        }
    }

    /// Whether it was given before the fence or put `other`, or is its own.
    fn covered_by(self, other: u32) -> bool {
        (other % NUMBERS + NUMBERS - self.number) % NUMBERS < NUMBERS / 2
    }
}

/// The software word of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PutWord {
    /// Reception FIFO of the origin's context, by which it is known on its node.
    origin: u16,
    /// The same of the target's.
    target: u16,
    put: PutNumber,
}

impl PutWord {
    /// Tells it from the word of the put that answers a get, which is its number.
    const MARK: u32 = 1 << 29;

    /// A node has 16 reception FIFOs.
    fn pack(self) -> u32 {
        let fifo = |fifo| u32::from(fifo) & 0xf;
        Self::MARK
            | fifo(self.origin) << 25
            | fifo(self.target) << 21
            | u32::from(self.put.plain) << 20
            | self.put.number
    }

    fn unpack(word: u32) -> Option<Self> {
        (word & Self::MARK != 0).then_some(Self {
            origin: (word >> 25 & 0xf) as u16,
            target: (word >> 21 & 0xf) as u16,
            put: PutNumber {
                number: word & 0xf_ffff,
                plain: word >> 20 & 1 != 0,
            },
        })
    }
}

/// What a context knows of refused puts, and the number of its own.
pub(super) struct Refusals {
    last: PutNumber,
    /// Packets that the node has not kept.
    lost: u32,
    /// There have been more since the context was opened.
    unknown: bool,
    /// Who has been told of that.
    told: BTreeSet<Endpoint>,
    /// Refused puts to this context of which no fence has told, by node and reception FIFO of the origin; in
    /// order.
    puts: BTreeMap<(Coord, u16), Vec<PutNumber>>,
}

impl Refusals {
    pub fn open<P: Platform>(platform: &P) -> Result<Self, Fault> {
        let status = registers::read(platform, Register::REFUSED)?;
        Ok(Self {
            last: PutNumber::default(),
            lost: lost(status),
            unknown: false,
            told: BTreeSet::new(),
            puts: BTreeMap::new(),
        })
    }

    /// The number of a put that will be synchronised, or one that is left to fences.
    pub fn number(&mut self, synchronised: bool) -> PutNumber {
        if synchronised {
            self.last = self.last.next();
            return self.last;
        }
        PutNumber {
            plain: true,
            ..self.last
        }
    }

    /// The number of a fence: of the last put before it. Puts after it have others.
    pub fn close(&mut self) -> u32 {
        let number = self.last.number;
        self.last = self.last.next();
        number
    }

    /// Takes from the node the refused puts to context `here`.
    pub fn look<P: Platform>(&mut self, platform: &P, here: u16) -> Result<(), Fault> {
        let status = registers::read(platform, Register::REFUSED)?;
        if self.lost != lost(status) {
            self.lost = lost(status);
            self.unknown = true;
            self.told.clear();
        }
        let valid = refusals::refused::VALID.get(status);
        for entry in (0..refusals::ENTRY_COUNT as u16).filter(|entry| valid >> entry & 1 != 0) {
            let info = registers::read(platform, Register::refused_info(entry))?;
            let place = registers::read(platform, Register::refused_place(entry))?;
            let packets = RefusedPackets::decode(info, place);
            // The words of an entry name the same contexts.
            let word = PutWord::unpack(packets.first_word);
            let Some(word) = word.filter(|word| word.target == here & 0xf) else {
                continue;
            };
            if packets.kind != Ok(Kind::Put) {
                continue;
            }
            let puts = self.puts.entry((packets.source, word.origin)).or_default();
            for put in packets.words().filter_map(PutWord::unpack) {
                if !puts.contains(&put.put) {
                    puts.push(put.put);
                }
            }
            // What has joined the entry since stays there.
            registers::write(platform, Register::refused_place(entry), place)?;
        }
        Ok(())
    }

    /// Whether a put of `origin` up to `number` has been refused; says so once.
    fn before_fence(&mut self, origin: (Coord, u16), number: u32) -> bool {
        let Some(puts) = self.puts.get_mut(&origin) else {
            return false;
        };
        let before = puts.len();
        puts.retain(|put| !put.covered_by(number));
        let refused = puts.len() < before;
        if puts.is_empty() {
            self.puts.remove(&origin);
        }
        refused
    }

    /// Whether put `number` of `origin` has been refused. Of those up to it one is kept for the fence.
    fn is_refused(&mut self, origin: (Coord, u16), number: u32) -> bool {
        let Some(puts) = self.puts.get_mut(&origin) else {
            return false;
        };
        let put = PutNumber {
            number: number % NUMBERS,
            plain: false,
        };
        let refused = puts.contains(&put);
        let mut kept = false;
        puts.retain(|put| !put.covered_by(number) || !core::mem::replace(&mut kept, true));
        refused
    }
}

/// Packets that a node has refused and not kept, since its reset.
fn lost(status: u64) -> u32 {
    // The field has 32 bits.
    refusals::refused::LOST.get(status) as u32
}

/// Where the packets of a context come from.
fn origin(plan: &Plan, peer: Endpoint) -> Result<(Coord, u16), Fault> {
    let from = plan.config.tasks.location(peer.task)?;
    let fifo = plan.reception_fifo(from.process, peer.context) & 0xf;
    Ok((from.node, fifo))
}

impl<P: Platform> Engine<P> {
    /// The software word of a put of this context to `peer`.
    pub(super) fn put_word(
        &self,
        context: &Context<P>,
        peer: Endpoint,
        put: PutNumber,
    ) -> Result<u32, Fault> {
        let plan = &context.shared().plan;
        let to = plan.config.tasks.location(peer.task)?;
        let word = PutWord {
            origin: context.query().reception_fifo,
            target: plan.reception_fifo(to.process, peer.context),
            put,
        };
        Ok(word.pack())
    }

    /// Looks what the node has refused.
    pub(super) fn look_for_refusals(&mut self, context: &Context<P>) -> Result<(), Fault> {
        let here = context.query().reception_fifo;
        self.refusals.look(context.platform(), here)
    }

    /// Whether puts of `peer` up to `number` have been refused: its fence has to say so.
    pub(super) fn refused_before_fence(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        number: u32,
    ) -> Result<bool, Fault> {
        self.look_for_refusals(context)?;
        let origin = origin(&context.shared().plan, peer)?;
        let unknown = self.refusals.unknown && self.refusals.told.insert(peer);
        Ok(self.refusals.before_fence(origin, number) || unknown)
    }

    /// The put of `peer` with this number is in memory, or has been refused: acknowledges it, or says so.
    pub(super) fn put_landed(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        cookie: u32,
        number: u32,
    ) -> Result<(), Fault> {
        self.look_for_refusals(context)?;
        let origin = origin(&context.shared().plan, peer)?;
        let unknown = self.refusals.unknown && !self.refusals.told.contains(&peer);
        if self.refusals.is_refused(origin, number) || unknown {
            let message = PutRefused { cookie };
            return self.send_control(context, peer, System::PutRefused, message.encode());
        }
        self.owe(context, peer, cookie);
        Ok(())
    }

    /// PUT_REFUSED has come.
    pub(super) fn put_refused(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        cookie: u32,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let pending = short(&context.shared().cookies).acknowledged(peer, cookie)?;
        progress.completed += 1;
        match pending.remote_done {
            Some(done) => {
                let error = Error::PutsRefused { peer: peer.task };
                deliver(context, Some(done), Err(error.into()), progress)
            }
            // It failed here already.
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_the_word_of_a_put_names_its_contexts_and_number() {
        for plain in [false, true] {
            let word = PutWord {
                origin: 0xa,
                target: 0x5,
                put: PutNumber {
                    number: 0xf_fffe,
                    plain,
                },
            };
            assert_eq!(PutWord::unpack(word.pack()), Some(word));
        }
        assert_eq!(PutWord::unpack(0x1fff_ffff), None);
    }

    #[test]
    fn x5_numbers_wrap_and_are_compared_over_the_end() {
        let put = |number| PutNumber {
            number,
            plain: false,
        };
        assert_eq!(put(NUMBERS - 1).next(), put(0));
        assert!(put(7).covered_by(7) && put(7).covered_by(8) && !put(8).covered_by(7));
        assert!(put(NUMBERS - 1).covered_by(0) && !put(0).covered_by(NUMBERS - 1));
    }
}
