// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of collectives as requests of the driver.

use std::ffi::c_char;

use gyre_collectives::{Blocks, Geometry, Request};
use gyre_driver::{BufferRange, Endpoint};
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::abi::{self, Type, Xfer, XferType};
use crate::buffers::{Count, Part, Typed, product};
use crate::endpoint_code::parts;
use crate::failure::Failure;
use crate::memory::map;
use crate::reduction::bytes_of;

/// Parameters of a collective, for one endpoint.
pub struct Arguments<'a> {
    pub platform: &'a RemotePlatform,
    pub geometry: &'a Geometry,
    /// Position of this endpoint.
    pub position: usize,
    pub kind: XferType,
    pub xfer: &'a Xfer,
}

impl Arguments<'_> {
    pub fn tasks(&self) -> usize {
        self.geometry.tasks().len()
    }

    pub fn root(&self, code: abi::Endpoint) -> Result<usize, Failure> {
        let (task, offset) = parts(code);
        let is = |e: &Endpoint| (e.task().0, e.context_offset()) == (task, offset);
        let found = self.geometry.endpoints().iter().position(is);
        // Below 2^32 endpoints.
        found
            .map(|rank| self.geometry.position(rank as u32))
            .ok_or_else(|| Failure::invalid(format!("root {code:#x} is not in the geometry")))
    }

    /// Whether this endpoint is the root.
    pub fn is_root(&self, code: abi::Endpoint) -> Result<bool, Failure> {
        Ok(self.root(code)? == self.position)
    }

    pub fn map(&self, part: Part) -> Result<BufferRange<RemoteBuffer>, Failure> {
        match part.bytes {
            0 => Ok(BufferRange::empty()),
            _ if part.address.is_null() => Err(Failure::invalid("a buffer has no address")),
            bytes => map(self.platform, part.address, bytes),
        }
    }

    /// Data to send; `None` if it is in `place` already.
    pub fn send(
        &self,
        part: Part,
        place: *mut u8,
    ) -> Result<Option<BufferRange<RemoteBuffer>>, Failure> {
        if part.address == place && part.bytes > 0 {
            return Ok(None);
        }
        self.map(part).map(Some)
    }

    /// The blocks of counts and displacements, in units of `bytes` bytes.
    ///
    /// # Safety
    /// Both arrays have an element for each endpoint of the geometry.
    pub unsafe fn blocks<T: Count>(
        &self,
        (counts, displacements): (*mut T, *mut T),
        bytes: usize,
    ) -> Result<(Blocks, usize), Failure> {
        if counts.is_null() || displacements.is_null() {
            return Err(Failure::invalid("counts or displacements are null"));
        }
        let (mut blocks, mut end) = (Vec::new(), 0);
        for place in 0..self.tasks() {
            // SAFETY: what the caller promises.
            let (count, at) = unsafe { (*counts.add(place), *displacements.add(place)) };
            let start = product(at.count()?, bytes)?;
            let length = product(count.count()?, bytes)?;
            // The place of an empty block does not matter.
            let start = if length > 0 { start } else { 0 };
            blocks.push(start..start + length);
            end = end.max(start + length);
        }
        Ok((Blocks::Listed(blocks), end))
    }
}

impl Arguments<'_> {
    pub fn broadcast(&self, p: &abi::Broadcast) -> Result<Request<RemoteBuffer>, Failure> {
        let root = self.root(p.root)?;
        let part = Part::of((p.buf, p.r#type, p.typecount))?;
        Ok(Request::broadcast(root, self.map(part)?))
    }

    pub fn allgather(&self, p: &abi::Allgather) -> Result<Request<RemoteBuffer>, Failure> {
        let send = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        let block = Part::of((p.rcvbuf, p.rtype, p.rtypecount))?.expect(send.bytes)?;
        let send = self.send(send, block.at(self.position))?;
        let receive = self.map(block.times(self.tasks())?)?;
        Ok(Request::allgather(
            send,
            receive,
            Blocks::Equal(block.bytes),
        ))
    }

    /// # Safety
    /// The parameters are filled in as `pami.h` says.
    pub unsafe fn allgatherv<T: Count>(
        &self,
        send: Typed<T>,
        (address, type_): (*mut c_char, Type),
        lists: (*mut T, *mut T),
    ) -> Result<Request<RemoteBuffer>, Failure> {
        let send = Part::of(send)?;
        // SAFETY: what the caller promises.
        let (blocks, bytes) = unsafe { self.blocks(lists, bytes_of(type_)?)? };
        let address = address.cast::<u8>();
        let send = self.send(send, self.place(address, &blocks))?;
        let receive = self.map(Part { address, bytes })?;
        Ok(Request::allgather(send, receive, blocks))
    }

    pub fn gather(&self, p: &abi::Gather) -> Result<Request<RemoteBuffer>, Failure> {
        let root = self.root(p.root)?;
        let send = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        if root != self.position {
            let blocks = Blocks::Equal(send.bytes);
            let send = Some(self.map(send)?);
            return Ok(Request::gather(root, send, BufferRange::empty(), blocks));
        }
        let block = Part::of((p.rcvbuf, p.rtype, p.rtypecount))?.expect(send.bytes)?;
        let send = self.send(send, block.at(self.position))?;
        let receive = self.map(block.times(self.tasks())?)?;
        Ok(Request::gather(
            root,
            send,
            receive,
            Blocks::Equal(block.bytes),
        ))
    }

    /// # Safety
    /// The parameters are filled in as `pami.h` says.
    pub unsafe fn gatherv<T: Count>(
        &self,
        root: abi::Endpoint,
        send: Typed<T>,
        (address, type_): (*mut c_char, Type),
        lists: (*mut T, *mut T),
    ) -> Result<Request<RemoteBuffer>, Failure> {
        let root = self.root(root)?;
        let send = Part::of(send)?;
        if root != self.position {
            let blocks = Blocks::Listed(Vec::new());
            let send = Some(self.map(send)?);
            return Ok(Request::gather(root, send, BufferRange::empty(), blocks));
        }
        // SAFETY: what the caller promises.
        let (blocks, bytes) = unsafe { self.blocks(lists, bytes_of(type_)?)? };
        let address = address.cast::<u8>();
        let send = self.send(send, self.place(address, &blocks))?;
        let receive = self.map(Part { address, bytes })?;
        Ok(Request::gather(root, send, receive, blocks))
    }

    pub fn scatter(&self, p: &abi::Scatter) -> Result<Request<RemoteBuffer>, Failure> {
        let root = self.root(p.root)?;
        let receive = Part::of((p.rcvbuf, p.rtype, p.rtypecount))?;
        if root != self.position {
            let blocks = Blocks::Equal(receive.bytes);
            let receive = Some(self.map(receive)?);
            return Ok(Request::scatter(
                root,
                BufferRange::empty(),
                blocks,
                receive,
            ));
        }
        let block = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        let receive = receive.expect(block.bytes)?;
        let send = self.map(block.times(self.tasks())?)?;
        let receive = self.send(receive, block.at(self.position))?;
        Ok(Request::scatter(
            root,
            send,
            Blocks::Equal(block.bytes),
            receive,
        ))
    }

    /// # Safety
    /// The parameters are filled in as `pami.h` says.
    pub unsafe fn scatterv<T: Count>(
        &self,
        root: abi::Endpoint,
        (address, type_): (*mut c_char, Type),
        lists: (*mut T, *mut T),
        receive: Typed<T>,
    ) -> Result<Request<RemoteBuffer>, Failure> {
        let root = self.root(root)?;
        let receive = Part::of(receive)?;
        if root != self.position {
            let blocks = Blocks::Listed(Vec::new());
            let receive = Some(self.map(receive)?);
            return Ok(Request::scatter(
                root,
                BufferRange::empty(),
                blocks,
                receive,
            ));
        }
        // SAFETY: what the caller promises.
        let (blocks, bytes) = unsafe { self.blocks(lists, bytes_of(type_)?)? };
        let address = address.cast::<u8>();
        let receive = self.send(receive, self.place(address, &blocks))?;
        let send = self.map(Part { address, bytes })?;
        Ok(Request::scatter(root, send, blocks, receive))
    }

    pub fn alltoall(&self, p: &abi::Alltoall) -> Result<Request<RemoteBuffer>, Failure> {
        let block = Part::of((p.sndbuf, p.stype, p.stypecount))?;
        let receive = Part::of((p.rcvbuf, p.rtype, p.rtypecount))?.expect(block.bytes)?;
        let send = self.send(block.times(self.tasks())?, receive.address)?;
        let blocks = Blocks::Equal(block.bytes);
        let receive = self.map(receive.times(self.tasks())?)?;
        Ok(Request::alltoall(send, blocks.clone(), receive, blocks))
    }

    /// # Safety
    /// The parameters are filled in as `pami.h` says.
    pub unsafe fn alltoallv<T: Count>(
        &self,
        ((from, stype), sends): ((*mut c_char, Type), (*mut T, *mut T)),
        ((to, rtype), receives): ((*mut c_char, Type), (*mut T, *mut T)),
    ) -> Result<Request<RemoteBuffer>, Failure> {
        // SAFETY: what the caller promises.
        let ((send_blocks, sent), (receive_blocks, received)) = unsafe {
            let send = self.blocks(sends, bytes_of(stype)?)?;
            (send, self.blocks(receives, bytes_of(rtype)?)?)
        };
        let part = |address: *mut c_char, bytes| Part {
            address: address.cast(),
            bytes,
        };
        let send = self.send(part(from, sent), to.cast())?;
        if send.is_none() && send_blocks != receive_blocks {
            let text = "in place, but the blocks that are sent are not those that are received";
            return Err(Failure::invalid(text));
        }
        let receive = self.map(part(to, received))?;
        Ok(Request::alltoall(
            send,
            send_blocks,
            receive,
            receive_blocks,
        ))
    }

    /// Address of this endpoint's block of a buffer.
    pub fn place(&self, address: *mut u8, blocks: &Blocks) -> *mut u8 {
        match blocks {
            Blocks::Listed(listed) => address.wrapping_add(listed[self.position].start),
            Blocks::Equal(bytes) => address.wrapping_add(self.position * bytes),
        }
    }
}
