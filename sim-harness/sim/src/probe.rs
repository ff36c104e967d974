// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of a machine that has stopped, read through the debug port of its nodes.

use gyre_layout::{ErrorReason, registers};

use crate::ffi;
use crate::hardware::Hardware;
use crate::links::Links;
use crate::record::{InBuffer, Out, OutReader, Request};

/// Cycles after which a register access is given up.
const PATIENCE: u32 = 64;

/// Registers of a node that show work left or errors, in words.
///
/// Runs the node on its own, so its machine cannot go on afterwards.
pub(crate) fn busy_registers(
    hardware: &Hardware,
    links: &mut Links,
    index: usize,
    cycle: u64,
) -> Vec<String> {
    use registers::{group_page, injection_fifo, node, reception_fifo};
    let page = registers::page(0);
    let mut addrs = vec![
        node::ERR_STATUS,
        node::ERR_INFO,
        node::STATUS,
        node::LINK_STATUS,
    ];
    let general = addrs.len();
    for fifo in 0..group_page::INJ_COUNT {
        let base = page + group_page::inj(fifo);
        addrs.extend(
            [
                injection_fifo::HEAD,
                injection_fifo::TAIL,
                injection_fifo::STATUS,
            ]
            .map(|r| base + r),
        );
    }
    let receptions = addrs.len();
    for fifo in 0..group_page::REC_COUNT {
        let base = page + group_page::rec(fifo);
        addrs.extend(
            [
                reception_fifo::HEAD,
                reception_fifo::TAIL,
                reception_fifo::STATUS,
            ]
            .map(|r| base + r),
        );
    }
    let values = read(hardware, links, index, cycle, &addrs);
    let mut lines = Vec::new();
    let value = |i: usize| values[i].unwrap_or(0);
    let errors = value(0);
    if errors >> 31 & 1 == 1 {
        let reason = errors as u8;
        let name = ErrorReason::try_from(reason).map_or("unknown".to_owned(), |r| r.to_string());
        lines.push(format!(
            "first error {reason:#04x} ({name}) at {}, info {:#x}; {} errors",
            errors >> 8 & 0x3ff,
            value(1),
            errors >> 32
        ));
    }
    let fifos = values[general..receptions].chunks_exact(3).zip(0..);
    for (fifo, number) in fifos {
        if let [Some(head), Some(tail), Some(status)] = *fifo
            && (head != tail || status & 1 == 1)
        {
            lines.push(format!(
                "injection FIFO {number}: head {head:#x}, tail {tail:#x}, status {status:#x}"
            ));
        }
    }
    for (fifo, number) in values[receptions..].chunks_exact(3).zip(0..) {
        if let [Some(head), Some(tail), Some(status)] = *fifo
            && head != tail
        {
            lines.push(format!(
                "reception FIFO {number}: head {head:#x}, tail {tail:#x}, status {status:#x}"
            ));
        }
    }
    if values[..general].contains(&None) {
        lines.push("the register port does not answer".to_owned());
    } else if !lines.is_empty() {
        lines.push(format!("status {:#x}, links {:#x}", value(2), value(3)));
    }
    lines
}

/// Reads registers of a node by running it on its own from cycle `start` on, while other nodes stand still. None where
/// there is no answer, or an error.
fn read(
    hardware: &Hardware,
    links: &mut Links,
    index: usize,
    start: u64,
    addrs: &[u64],
) -> Vec<Option<u64>> {
    let cycles = PATIENCE * (addrs.len() as u32 + 1);
    let mut control = InBuffer::default();
    for &addr in addrs {
        let request = Request {
            cycle: start,
            write: false,
            addr,
            data: 0,
        };
        control.register(1, &request);
    }
    let mut values = vec![None; addrs.len()];
    let mut input = Vec::new();
    links.receive(index, start + u64::from(cycles), &mut input);
    input.extend_from_slice(control.words());
    let mut node = hardware.node(index);
    let Ok(words) = ffi::run_node(node.model.pin_mut(), start, cycles, true, &input) else {
        return values;
    };
    let answers = OutReader::new(words, start).filter_map(|record| match record {
        Out::RegisterResp {
            port: 1,
            resp,
            data,
            ..
        } => Some((resp, data)),
        _ => None,
    });
    for (value, (resp, data)) in values.iter_mut().zip(answers) {
        *value = Some(data).filter(|_| resp == 0);
    }
    values
}
