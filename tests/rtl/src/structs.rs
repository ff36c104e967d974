// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packed structs and sizes of `gyre_pkg` and `gyre_dma_pkg` that benches of leaf cells exchange with them.

use gyre_layout::ErrorReason;

use crate::cell::Packed;

/// Packet buffers of a reception path: `RxBuffers`.
pub const BUFFERS: usize = 3;
/// 64-byte rows of each: `RxRows`.
pub const ROWS: usize = 9;
/// Packets between allocation of ring space and the ring's tail: `CommitDepth`.
pub const COMMITS: usize = 32;
/// Bytes of a flit of the leaf cells that have `FlitBytes`.
pub const FLIT: usize = 16;

/// `err_e` in a field.
pub fn code(reason: ErrorReason) -> u64 {
    u8::from(reason).into()
}

/// `header_t`.
pub static HEADER: Packed = Packed(&[
    ("sw1", 32),
    ("sw0", 32),
    ("aux", 32),
    ("offset", 32),
    ("flow_seq", 5),
    ("flow_valid", 1),
    ("target", 10),
    ("birth", 6),
    ("seq", 10),
    ("flow", 3),
    ("order", 3),
    ("last", 1),
    ("first", 1),
    ("hint", 10),
    ("len", 10),
    ("kind", 4),
    ("dynamic_route", 1),
    ("deposit", 1),
    ("src", 30),
    ("vclass", 2),
    ("dst", 30),
]);

/// `error_t`.
pub static ERROR: Packed = Packed(&[("valid", 1), ("reason", 8), ("where", 10), ("info", 64)]);

/// `axi_addr_t`.
pub static AXI_ADDR: Packed = Packed(&[("addr", 48), ("len", 8), ("id", 5)]);

/// `slot_t`.
pub static SLOT: Packed = Packed(&[
    ("valid", 1),
    ("read", 1),
    ("write", 1),
    ("atomic", 1),
    ("remote_read", 1),
    ("owner", 4),
    ("base", 48),
    ("limit", 40),
]);

/// `rget_move_t` and `rec_move_t`.
pub static MOVE: Packed = Packed(&[("valid", 1), ("failed", 1), ("id", 10), ("bytes", 10)]);

/// `flow_ref_t`.
pub static FLOW_REF: Packed = Packed(&[("valid", 1), ("id", 3), ("seq", 5)]);

/// `flow_counter_t`.
pub static FLOW_COUNTER: Packed = Packed(&[("ctr_valid", 1), ("ctr_addr", 48), ("ctr_bytes", 10)]);

/// `flow_window_t`.
pub static FLOW_WINDOW: Packed = Packed(&[
    ("valid", 1),
    ("id", 3),
    ("epoch", 7),
    ("src", 30),
    ("seq", 5),
]);

/// `rx_head_t`.
pub static RX_HEAD: Packed = Packed(&[
    ("mem_fifo", 1),
    ("rmw", 1),
    ("target", 10),
    ("len", 10),
    ("src", 30),
    ("dbg", 32),
    ("info", 64),
]);

/// `rx_req_t`.
pub static RX_REQ: Packed = Packed(&[
    ("mem_fifo", 1),
    ("rmw", 1),
    ("silent", 1),
    ("err", 8),
    ("control", 1),
    ("flow_valid", 1),
    ("flow_id", 3),
    ("flow_seq", 5),
    ("epoch", 10),
    ("src", 30),
    ("target", 10),
    ("len", 10),
    ("offset", 40),
    ("ctr_valid", 1),
    ("ctr_slot", 10),
    ("ctr_offset", 22),
]);

/// `rx_res_t`.
pub static RX_RES: Packed = Packed(&[
    ("ok", 1),
    ("blocked", 1),
    ("err", 8),
    ("addr", 48),
    ("next_page", 36),
    ("commit", 5),
    ("silent", 1),
    ("flow_valid", 1),
    ("flow_id", 3),
    ("flow_seq", 5),
    ("ctr_valid", 1),
    ("ctr_addr", 48),
]);

/// `rx_write_t`.
pub static RX_WRITE: Packed = Packed(&[
    ("buffer", 2),
    ("response", 1),
    ("silent", 1),
    ("mem_fifo", 1),
    ("target", 10),
    ("len", 10),
    ("sw", 30),
    ("kind", 4),
    ("src", 30),
    ("dbg", 32),
    ("addr", 48),
    ("next_page", 36),
    ("commit", 5),
    ("flow_valid", 1),
    ("flow_id", 3),
    ("flow_seq", 5),
    ("ctr_valid", 1),
    ("ctr_addr", 48),
]);

/// `rmw_exec_t`.
pub static RMW_EXEC: Packed = Packed(&[
    ("addr", 48),
    ("op", 3),
    ("compare", 1),
    ("wide", 1),
    ("value", 64),
    ("test", 64),
]);

/// `tx_retire_t`.
pub static TX_RETIRE: Packed = Packed(&[
    ("fifo", 10),
    ("kind", 4),
    ("answer", 1),
    ("last", 1),
    ("drop", 1),
    ("err", 1),
]);
