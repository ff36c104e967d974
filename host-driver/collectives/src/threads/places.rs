// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exchange of thread places within a node through shared memory.

use gyre_affinity::{Place, PlaceError};
use gyre_driver::{Op, Platform, SharedSegment};

use crate::error::Error;

/// Bytes of a thread's line: state, processor and module, core and thread.
const LINE: usize = 64;
/// First segment number of places; those of thread groups are lower.
const SEGMENTS: u32 = 1 << 25;
/// States of a line besides 0: the place is known or unknown.
const KNOWN: u32 = 1;
const UNKNOWN: u32 = 2;

/// Publishes the place of this thread, and returns the places of all.
///
/// # Errors
/// [`Error::ThreadPlace`] if the place of another thread is unknown; [`Error::Driver`].
pub(super) fn exchange<P: Platform>(
    platform: &P,
    (group, number): (&str, u16),
    (thread, count): (usize, usize),
    own: &Result<Place, PlaceError>,
) -> Result<Vec<Place>, Error> {
    platform.charge(Op::Allocate, 1);
    let segment = platform.share(SEGMENTS | u32::from(number), count * LINE)?;
    let pack = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
    let line = own.as_ref().map_or([UNKNOWN, 0, 0], |place| {
        let [unit, core] = [
            pack(place.processor, place.module),
            pack(place.core, place.thread),
        ];
        [KNOWN, unit, core]
    });
    platform.charge(Op::CopyChunk, 1);
    segment.write_words(thread * LINE, line)?;
    let mut places = Vec::with_capacity(count);
    let mut unknown = None;
    for other in 0..count {
        let [state, unit, core] = loop {
            platform.charge(Op::Counter, 1);
            let line: [u32; 3] = segment.read_words(other * LINE)?;
            if line[0] != 0 {
                break line;
            }
            platform.yield_now();
        };
        if state == UNKNOWN {
            unknown = Some(other);
        }
        places.push(Place {
            processor: (unit >> 16) as u16,
            module: unit as u16,
            core: (core >> 16) as u16,
            thread: core as u16,
        });
    }
    match unknown {
        Some(other) if own.is_ok() => Err(Error::ThreadPlace {
            group: group.into(),
            source: PlaceError {
                reason: format!("thread {other} of the group has been given none"),
            },
        }),
        _ => Ok(places),
    }
}
