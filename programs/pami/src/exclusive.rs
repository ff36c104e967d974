// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exclusive scans, which the driver does not have: inclusive scans of pairs (combination before the last element, combination of
//! all), in memory of the library.

use gyre_collectives::Request;
use gyre_driver::BufferRange;
use gyre_remote::{RemoteBuffer, RemotePlatform};

use crate::failure::Failure;
use crate::reduction::Operation;

/// Bytes before a pair; the first is 1 if there are elements before the last one.
const FLAG: usize = 16;

/// A pending exclusive scan.
pub struct Exclusive {
    pairs: BufferRange<RemoteBuffer>,
    bytes: usize,
    count: usize,
}

impl Exclusive {
    /// The scan of `data`, elements of the operation's type.
    ///
    /// # Errors
    /// `PAMI_ENOMEM` when there is no memory for the pairs.
    pub fn new(
        platform: &RemotePlatform,
        operation: &Operation,
        data: &[u8],
    ) -> Result<(Self, Request<RemoteBuffer>), Failure> {
        let bytes = operation.bytes();
        let pair = FLAG + 2 * bytes;
        let count = data.len() / bytes;
        let mut input = vec![0; count * pair];
        for (pair, element) in input.chunks_exact_mut(pair).zip(data.chunks_exact(bytes)) {
            pair[FLAG + bytes..].copy_from_slice(element);
        }
        let pairs = match count {
            0 => BufferRange::empty(),
            _ => BufferRange::copied(platform, &input)?,
        };
        let combine = operation.combine();
        let reduction = operation.on_pairs(pair, move |into, other| {
            let elements = into.chunks_exact_mut(pair).zip(other.chunks_exact(pair));
            for (into, other) in elements {
                let (flag, rest) = into.split_at_mut(FLAG);
                let (before, all) = rest.split_at_mut(bytes);
                let (other_flag, other) = other.split_at(FLAG);
                let (other_before, other_all) = other.split_at(bytes);
                before.copy_from_slice(all);
                if other_flag[0] != 0 {
                    combine(before, other_before);
                }
                combine(all, other_all);
                flag[0] = 1;
            }
        })?;
        let this = Self {
            pairs: pairs.clone(),
            bytes,
            count,
        };
        Ok((this, Request::scan(reduction, None, pairs)))
    }

    /// The result, when the scan has ended; `None` at the first endpoint.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn result(&self) -> Result<Option<Vec<u8>>, Failure> {
        let mut pairs = vec![0; self.pairs.len()];
        self.pairs
            .read(0, &mut pairs)
            .map_err(gyre_driver::Error::from)?;
        let mut result = Vec::with_capacity(self.count * self.bytes);
        for pair in pairs.chunks_exact(FLAG + 2 * self.bytes) {
            if pair[0] == 0 {
                return Ok(None);
            }
            result.extend(&pair[FLAG..FLAG + self.bytes]);
        }
        Ok(Some(result))
    }
}
