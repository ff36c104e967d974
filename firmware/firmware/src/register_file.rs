// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test double: the registers of a node, with plantable faults. No hardware behind them but the bits
//! that firmware waits for.

extern crate std;

use std::collections::BTreeMap;
use std::vec::Vec;

use gyre_layout::registers::node::{self, ctrl, err_status, status};
use gyre_layout::registers::{COLL, base_slot, coll_network, group_page, page};
use gyre_layout::{ID_MAGIC, ID_VERSION, LinkState};

use crate::access::RegisterAccess;

const TREE_LINK_STATUS: u64 = COLL + coll_network::LINK_STATUS;
const BARRIER_DONE: u64 = COLL + coll_network::BARRIER_DONE;

/// Refusal by the double's bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlaveError;

impl core::fmt::Display for SlaveError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("slave error")
    }
}

/// The double.
pub struct RegisterFile {
    pub values: BTreeMap<u64, u64>,
    /// Accesses in order: (address, value written).
    pub log: Vec<(u64, Option<u64>)>,
    /// Addresses that answer with an error.
    pub refuse: Vec<u64>,
    /// (address, mask of bits that always read 0).
    pub stuck: Vec<(u64, u64)>,
    /// Accesses to the first address go to the second.
    pub alias: Option<(u64, u64)>,
    /// Reads until links, drain and reset are done; `None`: never.
    pub patience: Option<u32>,
    /// A port that stays in this state; 10 and above: of the tree.
    pub bad_port: Option<(u32, LinkState)>,
    reads: u32,
}

impl RegisterFile {
    pub fn new() -> Self {
        let params = node::params::NDIM.put(3)
            | node::params::FLIT_BYTES.put(16)
            | node::params::NINJ.put(32)
            | node::params::NREC.put(16)
            | node::params::NSLOT.put(32)
            | node::params::NAXI.put(2)
            | node::params::GROUPS.put(1)
            | node::params::AXI_BYTES.put(64);
        let id = node::id::MAGIC.put(ID_MAGIC) | node::id::VERSION.put(ID_VERSION);
        Self {
            values: BTreeMap::from([(node::ID, id), (node::PARAMS, params)]),
            log: Vec::new(),
            refuse: Vec::new(),
            stuck: Vec::new(),
            alias: None,
            patience: Some(3),
            bad_port: None,
            reads: 0,
        }
    }

    pub fn value(&self, address: u64) -> u64 {
        self.values.get(&address).copied().unwrap_or(0)
    }

    fn redirect(&self, address: u64) -> u64 {
        match self.alias {
            Some((from, to)) if from == address => to,
            _ => address,
        }
    }

    /// Whether the hardware has had its time.
    fn ready(&mut self) -> bool {
        self.reads += 1;
        self.patience.is_some_and(|patience| self.reads > patience)
    }
}

impl RegisterAccess for RegisterFile {
    type Error = SlaveError;

    fn read(&mut self, address: u64) -> Result<u64, SlaveError> {
        self.log.push((address, None));
        if self.refuse.contains(&address) {
            return Err(SlaveError);
        }
        let mut value = self.value(self.redirect(address));
        match address {
            node::LINK_STATUS | TREE_LINK_STATUS => {
                let up = self.ready();
                let (enable, first) = match address {
                    node::LINK_STATUS => (node::LINK_ENABLE, 0),
                    _ => (COLL + coll_network::LINK_ENABLE, 10),
                };
                for port in 0..10 {
                    if self.value(enable) & 1 << port != 0 {
                        let mut state = if up { LinkState::Up } else { LinkState::Init };
                        if let Some((bad, stays)) = self.bad_port
                            && bad == first + port
                        {
                            state = stays;
                        }
                        value |= (state as u64) << (2 * port);
                    }
                }
            }
            node::STATUS if ctrl::DRAIN.is_set(self.value(node::CTRL)) && self.ready() => {
                value |= status::DRAINED.put(1);
            }
            node::CTRL if ctrl::SOFT_RESET.is_set(value) && self.ready() => {
                value = ctrl::SOFT_RESET.set(value, 0);
                self.values.insert(node::CTRL, value);
                // The group pages lose their values.
                self.values.retain(|&address, _| address < page(0));
            }
            _ => {}
        }
        for &(at, mask) in &self.stuck {
            if at == address {
                value &= !mask;
            }
        }
        Ok(value)
    }

    fn write(&mut self, address: u64, value: u64) -> Result<(), SlaveError> {
        self.log.push((address, Some(value)));
        self.reads = 0;
        if self.refuse.contains(&address) {
            return Err(SlaveError);
        }
        let address = self.redirect(address);
        let value = match address {
            node::INT_CAUSE | BARRIER_DONE => self.value(address) & !value,
            node::ERR_STATUS => self.value(address) & !(value & err_status::VALID.mask()),
            _ => value,
        };
        self.values.insert(address, value);
        Ok(())
    }
}

/// Address of CTRL of base slot `id`.
pub fn slot_ctrl(id: u64) -> u64 {
    page(0) + group_page::slot(id) + base_slot::CTRL
}
