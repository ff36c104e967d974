// SPDX-License-Identifier: MIT OR Apache-2.0
//! The algorithms of geometries for each kind of collective, and their conditions.

use std::ffi::c_uint;

use gyre_collectives::{Algorithm, Condition, Entry, Query, ReduceKind, RoutesTaken, Sharing};
use gyre_collectives::{DataType, ReduceOp};

use crate::abi::{self, MetadataResult, Xfer, XferType};
use crate::amcollective::call::Kind;
use crate::boundary;
use crate::collective_kinds::{collective, operation, types};
use crate::failure::Failure;
use crate::group::{GEOMETRIES, Group, Made};
use crate::metadata::metadata;
use crate::reduction::bytes_of;

/// The algorithm of active-message collectives.
const OF_ACTIVE_MESSAGES: Algorithm = Algorithm::Binomial;

/// Bits of an algorithm that are its number, and its kind; above them is the handle of the geometry.
const NUMBER_BITS: u32 = 8;
const KIND_BITS: u32 = 8;

/// An algorithm of a geometry for a kind of collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// The kind.
    pub kind: XferType,
    /// The algorithm; `None`: the driver chooses by the parameters.
    pub algorithm: Option<Algorithm>,
}

impl Offer {
    fn encode(self, geometry: usize) -> abi::Algorithm {
        let number = self.algorithm.map_or(0, |algorithm| algorithm as usize + 1);
        ((geometry << KIND_BITS | self.kind.0 as usize) << NUMBER_BITS) | number
    }

    /// The algorithm that a program names, and the handle of its geometry.
    ///
    /// # Errors
    /// `PAMI_INVAL` for an invalid one.
    pub fn decode(code: abi::Algorithm) -> Result<(Self, abi::Geometry), Failure> {
        let unknown = || Failure::invalid(format!("{code:#x} is not an algorithm"));
        let number = code & ((1 << NUMBER_BITS) - 1);
        let kind = code >> NUMBER_BITS & ((1 << KIND_BITS) - 1);
        let algorithm = match number.checked_sub(1) {
            None => None,
            Some(place) => Some(*Algorithm::ALL.get(place).ok_or_else(unknown)?),
        };
        let kind = XferType(kind as c_uint);
        match Kind::of(kind) {
            Some(_) if algorithm == Some(OF_ACTIVE_MESSAGES) => (),
            Some(_) => return Err(unknown()),
            None => collective(kind).map(|_| ()).ok_or_else(unknown)?,
        }
        let geometry = code >> (NUMBER_BITS + KIND_BITS);
        Ok((Self { kind, algorithm }, geometry as abi::Geometry))
    }
}

/// Whether a condition depends on the operation; others are equal for all collectives of a kind.
fn is_of_operation(condition: Condition) -> bool {
    matches!(
        condition,
        Condition::Commutative
            | Condition::ElementAtMost(_)
            | Condition::TreeOperation
            | Condition::TreeNan
    )
}

/// Properties of the geometry.
fn network(made: &Made) -> Result<(RoutesTaken, Sharing), Failure> {
    let mut known = None;
    made.each(|member| {
        known.get_or_insert((member.routes(), member.sharing()));
        Ok(())
    })?;
    known.ok_or_else(|| Failure::invalid("the geometry has ended"))
}

/// Parameters that conditions depend on; `reduction` combines the data.
fn query<'a>(
    made: &'a Made,
    kind: XferType,
    reduction: ReduceKind,
) -> Result<Option<Query<'a>>, Failure> {
    let Some((collective, vector)) = collective(kind) else {
        return Ok(None);
    };
    let (routes, sharing) = network(made)?;
    Ok(Some(Query {
        geometry: &made.geometry,
        collective,
        root: 0,
        bytes: (!vector).then_some(0),
        alignment: 1,
        reduction,
        routes,
        sharing,
    }))
}

/// The algorithms of a geometry for a kind: those that always work, and those whose metadata must be checked.
fn offered(group: &Group, kind: XferType) -> Result<[Vec<Offer>; 2], Failure> {
    if kind.0 >= XferType::COUNT.0 {
        let text = format!("{} is not a kind of collective", kind.0);
        return Err(Failure::invalid(text));
    }
    let made = group.made()?;
    if Kind::of(kind).is_some() {
        let algorithm = Some(OF_ACTIVE_MESSAGES);
        return Ok([vec![Offer { kind, algorithm }], Vec::new()]);
    }
    let any = ReduceKind::BuiltIn(DataType::U8, ReduceOp::Copy);
    let Some(query) = query(made, kind, any)? else {
        return Ok([Vec::new(), Vec::new()]);
    };
    let offer = |algorithm| Offer { kind, algorithm };
    let (mut always, mut checked) = (vec![offer(None)], Vec::new());
    for Entry {
        algorithm,
        requires,
        ..
    } in made.geometry.algorithms().list(query.collective)
    {
        let (of_operation, others): (Vec<Condition>, _) =
            requires.iter().partition(|c| is_of_operation(**c));
        if !others.into_iter().all(|condition| condition.holds(&query)) {
            continue;
        }
        match of_operation.is_empty() {
            true => always.push(offer(Some(*algorithm))),
            false => checked.push(offer(Some(*algorithm))),
        }
    }
    Ok([always, checked])
}

/// Reasons why an algorithm cannot do a collective.
fn obstacles(xfer: &Xfer) -> Result<c_uint, Failure> {
    let (offer, geometry) = Offer::decode(xfer.algorithm)?;
    let group = GEOMETRIES.get(geometry)?;
    let made = group.made()?;
    if let Some((sent, received)) = types(offer.kind, xfer) {
        bytes_of(sent).and(bytes_of(received))?;
    }
    let Ok(operation) = operation(offer.kind, xfer) else {
        return Ok(MetadataResult::DATATYPE_OP.set(0, 1));
    };
    let reduction = match operation {
        Some(operation) => operation.reduction()?.kind(),
        None => return Ok(0),
    };
    let (Some(query), Some(named)) = (query(made, offer.kind, reduction)?, offer.algorithm) else {
        return Ok(0);
    };
    let list = made.geometry.algorithms().list(query.collective);
    let entry = list.iter().find(|entry| entry.algorithm == named);
    Ok(match entry {
        Some(entry) if entry.is_valid(&query) => 0,
        Some(_) => MetadataResult::DATATYPE_OP.set(0, 1),
        None => MetadataResult::UNSPECIFIED.set(0, 1),
    })
}

/// The check of all algorithms.
///
/// # Safety
/// `xfer` points to parameters of a collective.
unsafe extern "C" fn check(xfer: *mut Xfer) -> MetadataResult {
    let bits = boundary::value(|| {
        // SAFETY: the program passes parameters.
        let found = unsafe { xfer.as_ref() }
            .ok_or_else(|| Failure::invalid("the parameters are null"))
            .and_then(obstacles);
        found.unwrap_or_else(|failure| {
            boundary::note(&failure.text);
            MetadataResult::UNSPECIFIED.set(0, 1)
        })
    });
    MetadataResult { bits }
}

/// C: `PAMI_Geometry_algorithms_num`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_algorithms_num(
    geometry: abi::Geometry,
    coll_type: XferType,
    lists_lengths: *mut usize,
) -> abi::ResultCode {
    boundary::result(|| {
        let group = GEOMETRIES.get(geometry)?;
        if lists_lengths.is_null() {
            return Err(Failure::invalid("the lengths are null"));
        }
        for (place, list) in offered(&group, coll_type)?.iter().enumerate() {
            // SAFETY: the program passes two numbers.
            unsafe { lists_lengths.add(place).write(list.len()) };
        }
        Ok(())
    })
}

/// C: `PAMI_Geometry_algorithms_query`.
///
/// # Safety
/// As [`PAMI_Geometry_algorithms_num`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_algorithms_query(
    geometry: abi::Geometry,
    colltype: XferType,
    algs0: *mut abi::Algorithm,
    mdata0: *mut abi::Metadata,
    num0: usize,
    algs1: *mut abi::Algorithm,
    mdata1: *mut abi::Metadata,
    num1: usize,
) -> abi::ResultCode {
    boundary::result(|| {
        let group = GEOMETRIES.get(geometry)?;
        let lists = offered(&group, colltype)?;
        let wanted = [(algs0, mdata0, num0), (algs1, mdata1, num1)];
        for (list, (algorithms, _, count)) in lists.iter().zip(wanted) {
            if count > list.len() || (count > 0 && algorithms.is_null()) {
                let text = format!("{count} algorithms, expected at most {}", list.len());
                return Err(Failure::invalid(text));
            }
        }
        for ((list, (algorithms, data, count)), checked) in
            lists.iter().zip(wanted).zip([false, true])
        {
            for (place, offer) in list.iter().take(count).enumerate() {
                // SAFETY: the program passes this many places.
                unsafe {
                    algorithms.add(place).write(offer.encode(geometry as usize));
                    if !data.is_null() {
                        data.add(place).write(metadata(
                            offer.kind,
                            offer.algorithm,
                            checked,
                            Some(check),
                        ));
                    }
                }
            }
        }
        Ok(())
    })
}
