//! Bytes of a task's process, as the machine's process reaches them.

use std::io::{IoSlice, IoSliceMut};

use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

/// Bytes of a task's process from an address on: static, on the heap or on a stack. The process has the say over them: what
/// it gives back or protects cannot be reached any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessRange {
    process: i32,
    address: usize,
    bytes: usize,
}

impl ProcessRange {
    /// `bytes` bytes from `address` on of the process with this number.
    pub(crate) fn new(process: i32, address: usize, bytes: usize) -> Self {
        Self {
            process,
            address,
            bytes,
        }
    }

    /// Address of the first byte in the process.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Copies bytes out, from `offset` on; false if they are not all there.
    #[must_use]
    pub fn read(&self, offset: u64, out: &mut [u8]) -> bool {
        let bytes = out.len();
        self.part(offset, bytes).is_some_and(|part| {
            let read = process_vm_readv(self.pid(), &mut [IoSliceMut::new(out)], &[part]);
            read == Ok(bytes)
        })
    }

    /// Copies bytes in, from `offset` on; false if they are not all there or may not be written.
    #[must_use]
    pub fn write(&self, offset: u64, data: &[u8]) -> bool {
        self.part(offset, data.len()).is_some_and(|part| {
            let written = process_vm_writev(self.pid(), &[IoSlice::new(data)], &[part]);
            written == Ok(data.len())
        })
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process)
    }

    fn part(&self, offset: u64, len: usize) -> Option<RemoteIoVec> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(len)?;
        let base = self.address.checked_add(offset)?;
        (end <= self.bytes).then_some(RemoteIoVec { base, len })
    }
}
