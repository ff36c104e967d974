// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records that go into and out of a model's run, as 64-bit words. `cpp/records.h` holds the same
//! layout and describes it.

use gyre_layout::BitField;
use gyre_layout::fields::link;

use crate::axi::{ReadBurst, WriteBeat};

/// Word on a link in a cycle: recorded when it changes, and for every flit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkWord {
    /// Cycle of the register that drives or receives it.
    pub(crate) cycle: u64,
    /// Control word, `link_word_t`.
    pub(crate) word: u32,
    /// Debug side-band.
    pub(crate) dbg: u32,
    /// Flit data; zero without a flit.
    pub(crate) data: [u64; FLIT_WORDS],
}

/// 64-bit words of a flit: 16 B flits.
pub(crate) const FLIT_WORDS: usize = 2;

/// 64-bit words of a link record.
pub(crate) const LINK_RECORD: usize = 2 + FLIT_WORDS;

impl LinkWord {
    /// A flit is on the data wires.
    pub(crate) const VALID: u32 = link::VALID.mask(0) as u32;

    /// A credit is given back.
    pub(crate) const CREDIT: u32 = link::CREDIT.mask(0) as u32;

    /// A field of the control word.
    pub(crate) fn field(&self, field: BitField) -> u32 {
        field.of(&[self.word.into()]) as u32
    }

    pub(crate) fn is_flit(&self) -> bool {
        self.word & Self::VALID != 0
    }

    pub(crate) fn is_credit(&self) -> bool {
        self.word & Self::CREDIT != 0
    }

    /// Whether the flit is the first of its packet.
    pub(crate) fn is_head(&self) -> bool {
        self.is_flit() && self.field(link::HEAD) != 0
    }

    /// Whether the flit is the last of its packet.
    pub(crate) fn is_tail(&self) -> bool {
        self.is_flit() && self.field(link::TAIL) != 0
    }

    /// Virtual channel of the flit.
    pub(crate) fn channel(&self) -> u32 {
        self.field(link::VC) | self.field(link::VC_HIGH) << link::VC.width
    }

    /// As the model takes it at `port`.
    pub(crate) fn arrival(self, port: u32) -> [u64; LINK_RECORD] {
        let mut words = [0; LINK_RECORD];
        words[0] = self.cycle << 8 | u64::from(port);
        words[1] = u64::from(self.word) | u64::from(self.dbg) << 32;
        words[2..].copy_from_slice(&self.data);
        words
    }

    /// Cycle of what [`LinkWord::arrival`] gives.
    pub(crate) fn arrival_cycle(words: &[u64; LINK_RECORD]) -> u64 {
        words[0] >> 8
    }
}

/// A register access as it goes to the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Cycle in which it reaches the register port.
    pub(crate) cycle: u64,
    pub(crate) write: bool,
    pub(crate) addr: u64,
    pub(crate) data: u64,
}

const IN_READ_DATA: u64 = 1;
const IN_WRITE_RESP: u64 = 2;
const IN_REGISTER: u64 = 3;
const IN_STALL: u64 = 4;
const IN_PACKET: u64 = 5;

/// Input of a run: everything after the link records.
#[derive(Default)]
pub(crate) struct InBuffer(Vec<u64>);

impl InBuffer {
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Read data: AXI response and 64 B of each beat.
    pub(crate) fn read_data(
        &mut self,
        burst: &ReadBurst,
        beats: impl Iterator<Item = (u8, [u64; 8])>,
    ) {
        let address = &burst.address;
        self.head(
            IN_READ_DATA,
            address.master.into(),
            address.id.into(),
            address.beats.into(),
        );
        self.0.push(burst.due);
        for (resp, data) in beats {
            self.0.push(resp.into());
            self.0.extend_from_slice(&data);
        }
    }

    pub(crate) fn write_response(&mut self, master: u8, id: u8, resp: u8, due: u64) {
        self.head(IN_WRITE_RESP, master.into(), id.into(), resp.into());
        self.0.push(due);
    }

    /// `port` 0 is the host's register port, 1 the debugger's.
    pub(crate) fn register(&mut self, port: u8, request: &Request) {
        self.head(IN_REGISTER, port.into(), request.write.into(), 0);
        self.0
            .extend_from_slice(&[request.cycle, request.addr, request.data]);
    }

    /// Channels: bit 0 AR, 1 AW, 2 W.
    pub(crate) fn stall(&mut self, master: u8, channels: u8, until: u64) {
        self.head(IN_STALL, master.into(), channels.into(), 0);
        self.0.push(until);
    }

    /// `paths` has a bit for each injection path that the packet may take.
    pub(crate) fn packet(&mut self, paths: u64, class: u8, dbg: u32, due: u64, header: &[u64; 4]) {
        self.head(IN_PACKET, 0, class.into(), dbg);
        self.0.extend_from_slice(&[due, paths]);
        self.0.extend_from_slice(header);
    }

    fn head(&mut self, tag: u64, a: u64, b: u64, c: u32) {
        self.0.push(tag | a << 8 | b << 16 | u64::from(c) << 32);
    }
}

/// Reads the register accesses of the host among inputs.
pub(crate) struct InReader<'a>(&'a [u64]);

impl<'a> InReader<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Self {
        Self(words)
    }
}

impl Iterator for InReader<'_> {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        while let Some((&head, rest)) = self.0.split_first() {
            let beats = (head >> 32) as usize;
            let length = match head & 0xff {
                IN_READ_DATA => 1 + beats * 9,
                IN_WRITE_RESP | IN_STALL => 1,
                IN_REGISTER => 3,
                IN_PACKET => 5,
                tag => unreachable!("record {tag} of an input"),
            };
            let (record, rest) = rest.split_at(length);
            self.0 = rest;
            // Port 0 is the host's.
            if let (IN_REGISTER, &[cycle, addr, data]) = (head & 0xffff, record) {
                return Some(Request {
                    cycle,
                    write: head >> 16 & 1 != 0,
                    addr,
                    data,
                });
            }
        }
        None
    }
}

/// A record that came out of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Out {
    Link {
        port: u8,
        word: LinkWord,
    },
    ReadAddr {
        cycle: u64,
        master: u8,
        addr: u64,
        fields: u64,
    },
    WriteAddr {
        cycle: u64,
        master: u8,
        addr: u64,
        fields: u64,
    },
    WriteData {
        cycle: u64,
        master: u8,
        beat: WriteBeat,
    },
    RegisterResp {
        cycle: u64,
        port: u8,
        resp: u8,
        data: u64,
    },
    Levels {
        cycle: u64,
        levels: u32,
    },
    Packet {
        path: u8,
        class: u8,
        damaged: bool,
        header: [u64; 4],
        head_cycle: u64,
        tail_cycle: u64,
    },
    End {
        quiet: bool,
        /// Cycle of the next event that the model's surroundings know of.
        next: u64,
        evaluated: u64,
    },
}

/// Reads the records of a run that started in `start`.
pub(crate) struct OutReader<'a> {
    words: &'a [u64],
    start: u64,
}

impl<'a> OutReader<'a> {
    pub(crate) fn new(words: &'a [u64], start: u64) -> Self {
        Self { words, start }
    }

    fn take<const N: usize>(&mut self) -> [u64; N] {
        let (now, rest) = self.words.split_at(N);
        self.words = rest;
        std::array::from_fn(|i| now[i])
    }
}

impl Iterator for OutReader<'_> {
    type Item = Out;

    fn next(&mut self) -> Option<Out> {
        if self.words.is_empty() {
            return None;
        }
        let [head] = self.take();
        let a = (head >> 8) as u8;
        let b = (head >> 16) as u16;
        let cycle = self.start + (head >> 32);
        Some(match head as u8 {
            1 => {
                let [word] = self.take();
                Out::Link {
                    port: a,
                    word: LinkWord {
                        cycle,
                        word: word as u32,
                        dbg: (word >> 32) as u32,
                        data: self.take(),
                    },
                }
            }
            tag @ (2 | 3) => {
                let [addr, fields] = self.take();
                let master = a;
                if tag == 2 {
                    Out::ReadAddr {
                        cycle,
                        master,
                        addr,
                        fields,
                    }
                } else {
                    Out::WriteAddr {
                        cycle,
                        master,
                        addr,
                        fields,
                    }
                }
            }
            4 => {
                let [dbg, strobe] = self.take();
                Out::WriteData {
                    cycle,
                    master: a,
                    beat: WriteBeat {
                        strobe,
                        dbg: dbg as u32,
                        last: b != 0,
                        data: self.take(),
                    },
                }
            }
            5 => {
                let [data] = self.take();
                Out::RegisterResp {
                    cycle,
                    port: a,
                    resp: b as u8,
                    data,
                }
            }
            6 => {
                let [levels] = self.take();
                Out::Levels {
                    cycle,
                    levels: levels as u32,
                }
            }
            7 => {
                let header = self.take();
                let [head_cycle] = self.take();
                Out::Packet {
                    path: a,
                    class: b as u8,
                    damaged: b >> 8 != 0,
                    header,
                    head_cycle,
                    tail_cycle: cycle,
                }
            }
            8 => {
                let [next, evaluated] = self.take();
                Out::End {
                    quiet: b != 0,
                    next,
                    evaluated,
                }
            }
            tag => unreachable!("record {tag}: cpp/records.h and this file disagree"),
        })
    }
}
