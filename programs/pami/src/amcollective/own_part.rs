// SPDX-License-Identifier: MIT OR Apache-2.0
//! An endpoint's own part of an active-message collective: calls its function of the program, and transfers its data to or from
//! the place that the function returns.

use std::ffi::c_void;

use crate::abi;
use crate::amcollective::call::{Call, Kind};
use crate::amcollective::receiver::{Receiver, Said};
use crate::event::Event;
use crate::failure::Failure;
use crate::reduction::Operation;
use crate::typed_data::{Function, Place, Transfer};

/// Result of a part.
#[derive(Default)]
pub struct Given {
    /// Data for the root.
    pub data: Vec<u8>,
    /// Operation on the data, if it is combined.
    pub operation: Option<Operation>,
}

/// A part that has been done.
pub struct Own {
    /// The program's callback for its end, which has not been called.
    pub event: Event,
    /// Its result.
    pub outcome: Result<Given, Failure>,
}

/// Endpoint that has called, and its geometry.
#[derive(Clone, Copy)]
pub struct Caller {
    /// The root.
    pub origin: abi::Endpoint,
    /// Handle of the geometry.
    pub geometry: usize,
    /// At the root: cookie of the operation, and whether it may be called in any order.
    pub operation: (*mut c_void, bool),
}

/// Does the part of `receiver`, with an endpoint's header and data.
pub fn run(receiver: &Receiver, call: &Call, item: &[u8], caller: Caller) -> Own {
    let bytes = call.bytes as usize;
    let (header, data) = item.split_at(item.len().min(call.header as usize));
    let said = receiver.call(header, bytes, caller.origin, caller.geometry);
    let event = Event::new(receiver.context, said.place.local_fn, said.place.cookie);
    // Zero-length data needs no buffer.
    let outcome = match (bytes, call.kind) {
        (0, _) => Ok(Given::default()),
        (_, Kind::Broadcast | Kind::Scatter) => transfer(&said, bytes).map(|transfer| {
            // SAFETY: the program's memory is as it has said.
            unsafe { transfer.take(data) };
            Given::default()
        }),
        (_, Kind::Gather) => gathered(&said, bytes, None),
        (_, Kind::Reduce) => operation(&said, bytes, caller.operation)
            .and_then(|operation| gathered(&said, bytes, Some(operation))),
    };
    Own { event, outcome }
}

/// Transfer of data to or from the program's place.
fn transfer(said: &Said, bytes: usize) -> Result<Transfer, Failure> {
    let Said { place, .. } = said;
    let by = Function {
        function: place.data_fn,
        cookie: place.data_cookie,
    };
    Place::new(place.addr, place.r#type, place.offset)?.transfer(bytes, by)
}

fn gathered(said: &Said, bytes: usize, operation: Option<Operation>) -> Result<Given, Failure> {
    // SAFETY: the program's memory is as it has said.
    let data = unsafe { transfer(said, bytes)?.gathered()? };
    Ok(Given {
        data: data.bytes().to_vec(),
        operation,
    })
}

fn operation(
    said: &Said,
    bytes: usize,
    (cookie, commutative): (*mut c_void, bool),
) -> Result<Operation, Failure> {
    let operation = Operation::new(said.place.r#type, (said.operation, cookie), commutative)?;
    let unit = operation.bytes().max(1);
    if !bytes.is_multiple_of(unit) {
        return Err(Failure::invalid(format!(
            "{bytes} bytes are combined that are no multiple of the type's {unit}"
        )));
    }
    Ok(operation)
}
