// SPDX-License-Identifier: MIT OR Apache-2.0
//! From reset to a machine that programs can run on: every node is brought up by its firmware.

use gyre_firmware::{Node, Rights, SelfTest, SlotConfig};
use gyre_sim::{Machine, SimError, Until};

use crate::platform::{PROCESS_BYTES, process_base};

/// Reads of a status register before the firmware gives up: far more than any link needs.
const POLLS: u32 = 10_000;

/// Owner of every process's FIFOs and slots: one user has the machine.
pub const OWNER: u8 = 0;

/// Brings all nodes up at once, as a machine does, and grants each of the `processes` processes of every
/// node the base slot of its memory: slot `p` for process `p`.
///
/// # Errors
/// What the firmware of the first failing node reports.
pub fn bring_up(machine: &mut Machine, processes: u8) -> Result<(), SimError> {
    for number in 0..machine.topology().nodes() {
        let network = machine.topology().network_config(number);
        machine.spawn(number, "firmware", move |cpu| {
            let mut node = Node::identify(cpu)?;
            node.bring_up(&network, SelfTest::Run, POLLS)?;
            for process in 0..processes {
                let slot = SlotConfig {
                    base: process_base(process),
                    limit: PROCESS_BYTES,
                    owner: OWNER,
                    rights: Rights {
                        read: true,
                        write: true,
                        atomic: true,
                        remote_read: true,
                    },
                };
                node.grant_slot(u16::from(process), &slot)?;
            }
            Ok::<(), gyre_firmware::NodeError<gyre_sim::BusError>>(())
        });
    }
    machine.run(Until::Done)?;
    Ok(())
}
