// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of cookies, on a platform of which there is none.

use super::*;
use crate::ack::cookie::{CookieTable, Pending};
use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::done_table::DoneTable;
use crate::error::Error;
use crate::platform::{
    AllocError, BusError, DmaBuffer, Platform, PlatformLock, RangeError, SegmentError,
    SharedSegment, WakeReason,
};

#[derive(Clone)]
enum Nowhere {}

impl DmaBuffer for Nowhere {
    fn len(&self) -> usize {
        match *self {}
    }

    fn slot(&self) -> u16 {
        match *self {}
    }

    fn offset(&self) -> u64 {
        match *self {}
    }

    fn address(&self) -> u64 {
        match *self {}
    }

    fn read(&self, _: usize, _: &mut [u8]) -> Result<(), RangeError> {
        match *self {}
    }

    fn write(&self, _: usize, _: &[u8]) -> Result<(), RangeError> {
        match *self {}
    }
}

impl PlatformLock for Nowhere {
    fn lock(&self) {
        match *self {}
    }

    fn trylock(&self) -> bool {
        match *self {}
    }

    fn unlock(&self) {
        match *self {}
    }
}

impl SharedSegment for Nowhere {
    fn read(&self, _: usize, _: &mut [u8]) -> Result<(), RangeError> {
        match *self {}
    }

    fn write(&self, _: usize, _: &[u8]) -> Result<(), RangeError> {
        match *self {}
    }
}

impl Platform for Nowhere {
    type Buffer = Self;
    type Lock = Self;
    type Segment = Self;

    fn read_reg(&self, _: u64) -> Result<u64, BusError> {
        match *self {}
    }

    fn write_reg(&self, _: u64, _: u64) -> Result<(), BusError> {
        match *self {}
    }

    fn alloc(&self, _: usize, _: usize) -> Result<Self, AllocError> {
        match *self {}
    }

    fn share(&self, _: u32, _: usize) -> Result<Self, SegmentError> {
        match *self {}
    }

    fn now_ps(&self) -> u64 {
        match *self {}
    }

    fn charge(&self, _: Op, _: u64) {
        match *self {}
    }

    fn wait(&self, _: u8, _: Option<u64>) -> WakeReason {
        match *self {}
    }

    fn notify(&self, _: u8) {
        match *self {}
    }

    fn yield_now(&self) {
        match *self {}
    }

    fn new_lock(&self) -> Self {
        match *self {}
    }
}

#[test]
fn x5_only_operations_not_started_are_forgotten() {
    let mut ends = DoneTable::new();
    let [lost, local, remote, other] = [(); 4].map(|()| ends.insert(()));
    let mut table = CookieTable::<Nowhere>::new();
    let mut insert = |local_done, remote_done| {
        table.insert(Pending {
            peer: peer(1),
            fenced: true,
            data: BufferRange::empty(),
            local_done,
            remote_done,
        })
    };
    let forgotten = [
        insert(Some(lost), None),
        insert(None, Some(lost)),
        insert(Some(local), Some(remote)),
    ];
    let left = [insert(Some(other), None), insert(None, None)];
    table.forget(&[lost, local, remote]);
    assert_eq!(table.len(), left.len());
    for cookie in left {
        assert!(table.remove(cookie).is_some());
    }
    for cookie in forgotten {
        let unknown = table.acknowledged(peer(1), cookie).err();
        let origin = TaskId(1);
        assert_eq!(unknown, Some(Error::UnknownCookie { origin, cookie }));
    }
}
