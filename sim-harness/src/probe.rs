//! Registers of a machine that has stopped, read through the debug port of its nodes.

use gyre_layout::{ErrorReason, registers};

use crate::ffi;
use crate::machine::Machine;
use crate::record::{InBuffer, Out, OutReader};
use crate::regbus::Request;

/// Cycles after which a register access is given up.
const PATIENCE: u32 = 64;

impl Machine {
    /// Reads registers of a node by running it on its own. Other nodes stand still, so the machine
    /// cannot go on afterwards. None where there is no answer, or an error.
    fn probe(&mut self, index: usize, addrs: &[u64]) -> Vec<Option<u64>> {
        let start = self.cycles();
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
        let mut answered = 0;
        let mut input = Vec::new();
        let end = start + u64::from(cycles);
        self.links.receive(index, end, &mut input);
        input.extend_from_slice(control.words());
        let mut node = self.hardware.node(index);
        let Ok(words) = ffi::run_node(node.model.pin_mut(), start, cycles, true, &input) else {
            return values;
        };
        for record in OutReader::new(words, start) {
            if let Out::RegisterResp {
                port: 1,
                resp,
                data,
                ..
            } = record
            {
                values[answered] = Some(data).filter(|_| resp == 0);
                answered += 1;
            }
        }
        values
    }

    /// Registers of a node that tell of work left or of errors, in words.
    pub(crate) fn busy_registers(&mut self, index: usize) -> Vec<String> {
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
        let values = self.probe(index, &addrs);
        let mut lines = Vec::new();
        let value = |i: usize| values[i].unwrap_or(0);
        let errors = value(0);
        if errors >> 31 & 1 == 1 {
            let reason = errors as u8;
            let name =
                ErrorReason::try_from(reason).map_or("unknown".to_owned(), |r| r.to_string());
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
}
