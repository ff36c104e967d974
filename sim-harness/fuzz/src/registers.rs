// SPDX-License-Identifier: MIT OR Apache-2.0
//! Oracle for register accesses: the answer that the register map promises.

use gyre_layout::registers::{
    self as reg, COLL, REFUSALS, base_slot, coll_network, flow_page, group_page, injection_fifo,
    node, reception_fifo, refusals,
};

/// The answer that the register map promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// OKAY.
    Okay,
    /// SLVERR.
    Refused,
    /// By the state of the node.
    Either,
}

use Answer::{Either, Okay, Refused};

/// Registers of the node block that cannot be written.
const READ_ONLY: [u64; 6] = [
    node::ID,
    node::PARAMS,
    node::STATUS,
    node::LINK_STATUS,
    node::ERR_INFO,
    node::ERR_TIME,
];

/// The answer to an access at a node with `ports` torus links; `write` is the written value.
pub fn answer(addr: u64, write: Option<u64>, ports: u64) -> Answer {
    let unless = |refused: bool| if refused { Refused } else { Okay };
    if !addr.is_multiple_of(8) || addr >= 1 << 24 {
        return Refused;
    }
    let writes = write.is_some();
    match addr {
        0..0x100 => match addr {
            _ if addr > node::DIM_ORDER => Refused,
            node::ERR_SET => unless(!writes),
            _ => unless(writes && READ_ONLY.contains(&addr)),
        },
        0x100..0x200 => Okay,
        COLL..REFUSALS => match addr - COLL {
            coll_network::BARRIER_ENTER => unless(!writes),
            coll_network::LINK_STATUS => unless(writes),
            offset => unless(offset > coll_network::LINK_STATUS),
        },
        REFUSALS..0x600 => {
            let offset = addr - REFUSALS;
            let entries = refusals::entry(0)..refusals::entry(refusals::ENTRY_COUNT);
            match offset {
                refusals::REFUSED => unless(writes),
                _ if !entries.contains(&offset) => Refused,
                _ if offset.is_multiple_of(16) => unless(writes),
                _ if writes => Either,
                _ => Okay,
            }
        }
        0x1000..0x2000 => {
            let index = |base: u64, count: u64| {
                (base..base + 8 * count)
                    .contains(&addr)
                    .then(|| (addr - base) / 8)
            };
            let present = index(reg::perf_flits(0), 8 * ports)
                .or(index(reg::perf_stalls(0), ports))
                .or(index(reg::perf_coll(0), reg::PERF_COLL_COUNT))
                .or(index(reg::perf_sent(0), reg::PERF_SENT_COUNT))
                .or(index(reg::perf_received(0), reg::PERF_RECEIVED_COUNT));
            unless(writes || present.is_none())
        }
        _ if (reg::page(0)..reg::page(1)).contains(&addr) => page(addr - reg::page(0), write),
        _ if (reg::FLOW..reg::FLOW + 0x1000).contains(&addr) => match addr - reg::FLOW {
            flow_page::PARAMS => unless(writes),
            _ => Either,
        },
        _ => Refused,
    }
}

/// Of a group page.
fn page(offset: u64, write: Option<u64>) -> Answer {
    let Some(value) = write else {
        return match offset >= group_page::slot(0) && offset % 32 == 24 {
            true => Refused,
            false => Okay,
        };
    };
    // Bits that an address does not have.
    let no_address = value >> 48 != 0;
    if offset < group_page::rec(0) {
        return match offset % 64 {
            injection_fifo::HEAD | injection_fifo::COUNT => Refused,
            injection_fifo::BASE if no_address || value & 0xfff != 0 => Refused,
            injection_fifo::TAIL if value % 64 != 0 || value >> 32 != 0 => Refused,
            injection_fifo::HIGHWATER => Okay,
            _ => Either,
        };
    }
    if offset < group_page::slot(0) {
        return match offset % 64 {
            reception_fifo::TAIL => Refused,
            reception_fifo::BASE if no_address || value & 0xfff != 0 => Refused,
            reception_fifo::STATUS | reception_fifo::THRESHOLD | reception_fifo::HIGHWATER => Okay,
            _ => Either,
        };
    }
    match offset % 32 {
        base_slot::BASE if no_address => Refused,
        24 => Refused,
        base_slot::LIMIT => Either,
        _ => Okay,
    }
}

/// A place in the register map for names of findings: the register, without the number of its FIFO or slot.
pub fn place(addr: u64) -> String {
    let offset = addr.wrapping_sub(reg::page(0));
    match addr {
        _ if !addr.is_multiple_of(8) => "unaligned".to_owned(),
        _ if offset < group_page::rec(0) => format!("injection FIFO + {:#x}", offset % 64),
        _ if offset < group_page::slot(0) => format!("reception FIFO + {:#x}", offset % 64),
        _ if offset < 0x1000 => format!("slot + {:#x}", offset % 32),
        0x100..0x200 => format!("wake group + {:#x}", addr % 16),
        0x1000..0x2000 => "counters".to_owned(),
        _ if addr >= reg::FLOW + 0x1000 || (0x2000..reg::page(0)).contains(&addr) => {
            "unmapped".to_owned()
        }
        _ if (reg::page(1)..reg::FLOW).contains(&addr) => "absent page".to_owned(),
        _ if addr >= reg::FLOW => format!("flow page + {:#x}", (addr - reg::FLOW) & !0x7f0),
        _ => format!("{addr:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_the_map_says_which_accesses_are_refused() {
        for (addr, write, expected) in [
            (node::ID, None, Okay),
            (node::ID, Some(1), Refused),
            (node::ERR_SET, None, Refused),
            (node::ERR_SET, Some(1), Okay),
            (0x88, None, Refused),
            (node::SCRATCH + 4, None, Refused),
            (COLL + coll_network::BARRIER_ENTER, None, Refused),
            (COLL + 0x120, Some(0), Refused),
            (REFUSALS + 8, None, Refused),
            (reg::perf_flits(8 * 6), None, Refused),
            (reg::perf_flits(8 * 6 - 1), None, Okay),
            (0x1540, None, Refused),
            (0x2000, None, Refused),
            (0x10_0858, Some(0), Refused),
            (0x10_0858, None, Okay),
            (0x10_0c38, None, Refused),
            (0x10_0c20, Some(1 << 48), Refused),
            (0x10_0000, Some(1 << 48), Refused),
            (0x10_0800, Some(1 << 48), Refused),
            (0x10_1000, None, Refused),
            (0x20_0000, Some(0), Refused),
        ] {
            assert_eq!(answer(addr, write, 6), expected, "{addr:#x} {write:?}");
        }
    }
}
