// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of collectives that combine data as requests of the driver.

use gyre_collectives::{Blocks, Reduction, Request};
use gyre_driver::BufferRange;
use gyre_remote::RemoteBuffer;

use crate::abi;
use crate::arguments::Arguments;
use crate::buffers::{Part, product};
use crate::failure::Failure;
use crate::reduction::bytes_of;

impl Arguments<'_> {
    pub fn reduce(&self, p: &abi::Reduce, by: Reduction) -> Result<Request<RemoteBuffer>, Failure> {
        let root = self.root(p.root)?;
        let send = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        if root != self.position {
            let send = Some(self.map(send)?);
            return Ok(Request::reduce(root, by, send, BufferRange::empty()));
        }
        let receive = Part::of((p.rcvbuf, p.rtype, p.rtypecount))?.expect(send.bytes)?;
        let send = self.send(send, receive.address)?;
        Ok(Request::reduce(root, by, send, self.map(receive)?))
    }

    pub fn allreduce(
        &self,
        p: &abi::Allreduce,
        by: Reduction,
    ) -> Result<Request<RemoteBuffer>, Failure> {
        let send = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        let receive = Part::of((p.rcvbuf, p.rtype, p.rtypecount))?.expect(send.bytes)?;
        let send = self.send(send, receive.address)?;
        Ok(Request::allreduce(by, send, self.map(receive)?))
    }

    pub fn scan(&self, p: &abi::Scan, by: Reduction) -> Result<Request<RemoteBuffer>, Failure> {
        let send = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        let receive = Part::of((p.rcvbuf, p.rtype, p.rtypecount))?.expect(send.bytes)?;
        let send = self.send(send, receive.address)?;
        Ok(Request::scan(by, send, self.map(receive)?))
    }

    /// The data of an exclusive scan, and the address of its result, of the same length.
    ///
    /// # Safety
    /// The parameters are filled in as `pami.h` says, and the data is used before the collective begins.
    pub unsafe fn exclusive<'b>(p: &abi::Scan) -> Result<(&'b [u8], *mut u8), Failure> {
        let send = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        let receive = Part::of((p.rcvbuf, p.rtype, p.rtypecount))?.expect(send.bytes)?;
        if send.bytes == 0 {
            return Ok((&[], receive.address));
        }
        if send.address.is_null() || receive.address.is_null() {
            return Err(Failure::invalid("a buffer has no address"));
        }
        // SAFETY: what the caller promises.
        let data = unsafe { std::slice::from_raw_parts(send.address, send.bytes) };
        Ok((data, receive.address))
    }

    /// # Safety
    /// The parameters are filled in as `pami.h` says.
    pub unsafe fn reduce_scatter(
        &self,
        p: &abi::ReduceScatter,
        by: Reduction,
    ) -> Result<Request<RemoteBuffer>, Failure> {
        let send = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        let bytes = bytes_of(p.rtype)?;
        if p.rcounts.is_null() {
            return Err(Failure::invalid("the counts are null"));
        }
        let (mut parts, mut all) = (Vec::new(), 0usize);
        for place in 0..self.tasks() {
            // SAFETY: one for each endpoint.
            let part = product(unsafe { *p.rcounts.add(place) }, bytes)?;
            all = all.saturating_add(part);
            parts.push(part);
        }
        let in_place = p.sndbuf == p.rcvbuf && all > 0;
        let whole = Part {
            address: p.rcvbuf.cast(),
            bytes: all,
        };
        whole.expect(send.bytes)?;
        let receive = Part {
            bytes: if in_place { all } else { parts[self.position] },
            ..whole
        };
        let blocks = match parts.iter().all(|&part| part == parts[0]) {
            true => Blocks::Equal(parts[0]),
            false => Blocks::counted(&parts),
        };
        let send = self.send(send, receive.address)?;
        let receive = self.map(receive)?;
        Ok(Request::reduce_scatter(by, send, receive, blocks))
    }
}
