// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data with holes in collectives: it is packed into memory of the library.

use std::ffi::c_char;

use crate::abi::{Type, Xfer, XferType};
use crate::arguments::Arguments;
use crate::buffers::{Count, Counts, product};
use crate::elements::Element;
use crate::failure::Failure;
use crate::type_handles::complete;
use crate::typed_data::{Function, Place, Transfer};
use gyre_interpose::Staging;

/// Use of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Sent,
    Received,
}

/// Packed data of the program.
struct Packed {
    memory: Staging,
    /// Each part with its place in the program's memory and its start in the packed memory.
    parts: Vec<(Transfer, usize)>,
    way: Way,
}

/// The memory of a collective's data.
#[derive(Default)]
pub struct Packing {
    packed: Vec<Packed>,
    /// Counts and displacements, which are read before the collective begins.
    lists: Vec<Counts>,
}

/// A type without holes with as much data, and its repetitions for one of the other type.
fn dense(size: usize, element: Option<Element>) -> (Type, usize) {
    let element = element.unwrap_or(Element::BYTE);
    (element.number() as Type, size / element.size())
}

impl Packing {
    /// Memory for `bytes` bytes, with the current data of `parts`; also for received data, which may leave bytes unwritten.
    ///
    /// # Safety
    /// The program's memory is as the types say.
    unsafe fn add(
        &mut self,
        bytes: usize,
        parts: Vec<(Transfer, usize)>,
        way: Way,
    ) -> Result<*mut c_char, Failure> {
        let memory = Staging::zeroed(bytes)?;
        for (transfer, at) in &parts {
            // SAFETY: what the caller promises; all parts are within the memory.
            unsafe { transfer.gather(memory.address().add(*at)) };
        }
        let address = memory.address().cast();
        self.packed.push(Packed { memory, parts, way });
        Ok(address)
    }

    /// Replaces `times` contiguous buffers by packed memory.
    ///
    /// # Safety
    /// As [`add`](Self::add).
    unsafe fn buffer<T: Count>(
        &mut self,
        (address, type_, count): (&mut *mut c_char, &mut Type, &mut T),
        times: usize,
        way: Way,
    ) -> Result<(), Failure> {
        let of = complete(*type_)?;
        if of.layout.is_contiguous() || of.size() == 0 {
            return Ok(());
        }
        let bytes = product(count.count()?, of.size())?;
        let all = product(times, bytes)?;
        let place = Place::new((*address).cast(), *type_, 0)?;
        let part = place.transfer(all, Function::COPY)?;
        let (dense, each) = dense(of.size(), of.element());
        if all > 0 {
            // SAFETY: what the caller promises.
            *address = unsafe { self.add(all, vec![(part, 0)], way)? };
        }
        *type_ = dense;
        *count = T::from_count(product(count.count()?, each)?)?;
        Ok(())
    }

    /// Replaces blocks with counts and displacements by packed memory.
    ///
    /// # Safety
    /// As [`add`](Self::add); both arrays have `blocks` elements.
    unsafe fn blocks<T: Count>(
        &mut self,
        (address, type_): (&mut *mut c_char, &mut Type),
        (counts, displacements): (&mut *mut T, &mut *mut T),
        blocks: usize,
        way: Way,
    ) -> Result<(), Failure> {
        let of = complete(*type_)?;
        if of.layout.is_contiguous() || of.size() == 0 {
            return Ok(());
        }
        if counts.is_null() || displacements.is_null() {
            return Err(Failure::invalid("counts or displacements are null"));
        }
        let (dense, each) = dense(of.size(), of.element());
        let (mut lengths, mut starts, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = 0usize;
        for place in 0..blocks {
            // SAFETY: what the caller promises.
            let (count, at) = unsafe { (*counts.add(place), *displacements.add(place)) };
            let bytes = product(count.count()?, of.size())?;
            lengths.push(T::from_count(product(count.count()?, each)?)?);
            starts.push(T::from_count(all / of.size() * each)?);
            if bytes > 0 {
                let begin = at.count()?.wrapping_mul(of.extent());
                let place = Place::new(address.wrapping_add(begin).cast(), *type_, 0)?;
                parts.push((place.transfer(bytes, Function::COPY)?, all));
                all = product(1, all.saturating_add(bytes))?;
            }
        }
        if all > 0 {
            // SAFETY: what the caller promises.
            *address = unsafe { self.add(all, parts, way)? };
        }
        *type_ = dense;
        *counts = self.keep(lengths);
        *displacements = self.keep(starts);
        Ok(())
    }

    fn keep<T: Count>(&mut self, list: Vec<T>) -> *mut T {
        let mut kept = T::list(list);
        let address = T::address(&mut kept);
        self.lists.push(kept);
        address
    }

    /// Unpacks received data to the program's memory.
    ///
    /// # Safety
    /// As [`Packing::of`], at the end of the collective.
    pub unsafe fn unpack(&self) {
        let received = self.packed.iter().filter(|p| p.way == Way::Received);
        for Packed { memory, parts, .. } in received {
            for (transfer, at) in parts {
                // SAFETY: what the caller promises.
                unsafe { transfer.take(&memory.bytes()[*at..]) };
            }
        }
    }

    /// Whether no data has holes.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Equivalent parameters with packed data. Data to send is copied now.
    ///
    /// # Errors
    /// `PAMI_INVAL` for parameters that cannot be; `PAMI_ENOMEM`.
    ///
    /// # Safety
    /// The member of the kind is filled in as `pami.h` says.
    pub unsafe fn of(arguments: &Arguments<'_>) -> Result<(Xfer, Self), Failure> {
        use Way::{Received, Sent};
        let mut packing = Self::default();
        let mut xfer = *arguments.xfer;
        let all = arguments.tasks();
        let cmd = &mut xfer.cmd;
        /// A buffer with a count.
        macro_rules! buffer {
            ($p:ident, $buffer:ident $type:ident $count:ident, $times:expr, $way:expr) => {
                packing.buffer(
                    (&mut $p.$buffer, &mut $p.$type, &mut $p.$count),
                    $times,
                    $way,
                )?
            };
        }
        /// A buffer of blocks with counts.
        macro_rules! blocks {
            ($p:ident, $buffer:ident $type:ident $counts:ident $displacements:ident, $way:expr) => {
                packing.blocks(
                    (&mut $p.$buffer, &mut $p.$type),
                    (&mut $p.$counts, &mut $p.$displacements),
                    all,
                    $way,
                )?
            };
        }
        /// Packs both buffers, with these numbers of parts.
        macro_rules! both {
            ($member:ident, $sent:expr, $received:expr) => {{
                let p = &mut cmd.$member;
                buffer!(p, sndbuf stype stypecount, $sent, Sent);
                buffer!(p, rcvbuf rtype rtypecount, $received, Received);
            }};
        }
        /// Packs both buffers, if only the root receives.
        macro_rules! to_root {
            ($member:ident, $received:expr) => {{
                let p = &mut cmd.$member;
                buffer!(p, sndbuf stype stypecount, 1, Sent);
                if arguments.is_root(p.root)? {
                    buffer!(p, rcvbuf rtype rtypecount, $received, Received);
                }
            }};
        }
        /// Packs the blocks of all to all, to the root, and from the root.
        macro_rules! gathered {
            ($member:ident) => {{
                let p = &mut cmd.$member;
                buffer!(p, sndbuf stype stypecount, 1, Sent);
                blocks!(p, rcvbuf rtype rtypecounts rdispls, Received);
            }};
            ($member:ident, root) => {{
                let p = &mut cmd.$member;
                buffer!(p, sndbuf stype stypecount, 1, Sent);
                if arguments.is_root(p.root)? {
                    blocks!(p, rcvbuf rtype rtypecounts rdispls, Received);
                }
            }};
        }
        macro_rules! scattered {
            ($member:ident) => {{
                let p = &mut cmd.$member;
                if arguments.is_root(p.root)? {
                    blocks!(p, sndbuf stype stypecounts sdispls, Sent);
                }
                buffer!(p, rcvbuf rtype rtypecount, 1, Received);
            }};
        }
        macro_rules! exchanged {
            ($member:ident) => {{
                let p = &mut cmd.$member;
                blocks!(p, sndbuf stype stypecounts sdispls, Sent);
                blocks!(p, rcvbuf rtype rtypecounts rdispls, Received);
            }};
        }
        // SAFETY: the program has filled in the member of the kind.
        unsafe {
            match arguments.kind {
                XferType::BROADCAST => {
                    let p = &mut cmd.xfer_broadcast;
                    let way = match arguments.is_root(p.root)? {
                        true => Sent,
                        false => Received,
                    };
                    buffer!(p, buf r#type typecount, 1, way);
                }
                XferType::ALLREDUCE => both!(xfer_allreduce, 1, 1),
                XferType::SCAN => both!(xfer_scan, 1, 1),
                XferType::ALLGATHER => both!(xfer_allgather, 1, all),
                XferType::ALLTOALL => both!(xfer_alltoall, all, all),
                XferType::REDUCE => to_root!(xfer_reduce, 1),
                XferType::GATHER => to_root!(xfer_gather, all),
                XferType::ALLGATHERV => gathered!(xfer_allgatherv),
                XferType::ALLGATHERV_INT => gathered!(xfer_allgatherv_int),
                XferType::GATHERV => gathered!(xfer_gatherv, root),
                XferType::GATHERV_INT => gathered!(xfer_gatherv_int, root),
                XferType::SCATTERV => scattered!(xfer_scatterv),
                XferType::SCATTERV_INT => scattered!(xfer_scatterv_int),
                XferType::ALLTOALLV => exchanged!(xfer_alltoallv),
                XferType::ALLTOALLV_INT => exchanged!(xfer_alltoallv_int),
                XferType::SCATTER => {
                    let p = &mut cmd.xfer_scatter;
                    if arguments.is_root(p.root)? {
                        buffer!(p, sndbuf stype stypecount, all, Sent);
                    }
                    buffer!(p, rcvbuf rtype rtypecount, 1, Received);
                }
                XferType::REDUCE_SCATTER => {
                    let p = &mut cmd.xfer_reduce_scatter;
                    buffer!(p, sndbuf stype stypecount, 1, Sent);
                    packing.parts(p, arguments)?;
                }
                _ => (),
            }
        }
        Ok((xfer, packing))
    }

    /// Replaces this endpoint's part of a reduction by packed memory.
    ///
    /// # Safety
    /// As [`of`](Self::of).
    unsafe fn parts(
        &mut self,
        p: &mut crate::abi::ReduceScatter,
        arguments: &Arguments<'_>,
    ) -> Result<(), Failure> {
        let of = complete(p.rtype)?;
        if of.layout.is_contiguous() || of.size() == 0 || p.rcounts.is_null() {
            return Ok(());
        }
        let (dense, each) = dense(of.size(), of.element());
        let mut counts = Vec::new();
        for place in 0..arguments.tasks() {
            // SAFETY: one for each endpoint.
            counts.push(product(unsafe { *p.rcounts.add(place) }, each)?);
        }
        // SAFETY: as above.
        let mut own = unsafe { *p.rcounts.add(arguments.position) };
        let mut rtype = p.rtype;
        // SAFETY: what the caller promises.
        unsafe { self.buffer((&mut p.rcvbuf, &mut rtype, &mut own), 1, Way::Received)? };
        p.rtype = dense;
        p.rcounts = self.keep(counts);
        Ok(())
    }
}
