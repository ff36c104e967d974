// SPDX-License-Identifier: MIT OR Apache-2.0
//! RTL units, a node and the flat fabric, Verilated.

mod age_arbiter;
mod collective_alu;
mod collective_barrier;
mod collective_choice;
mod collective_errors;
mod collective_faults;
mod collective_network;
mod counter;
mod counter_unit;
mod credit_counter;
mod flat_fabric;
mod flow_reorder;
mod gyre_dma;
mod gyre_dma_collective;
mod gyre_dma_errors;
mod gyre_dma_flows;
mod gyre_fifo;
mod gyre_network;
mod gyre_network_dynamic;
mod inj_fifo_table;
mod layout_fields;
mod leaf_cells;
mod link_unit;
mod lrs_arbiter;
mod node_registers;
mod node_reset;
mod node_rmw;
mod node_rmw_machine;
mod rec_fifo_table;
mod reception_cells;
mod reception_places;
mod reception_writes;
mod refusal_log;
mod routing;
mod rr_arbiter;
