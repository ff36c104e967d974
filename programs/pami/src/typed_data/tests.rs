// SPDX-License-Identifier: MIT OR Apache-2.0
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use proptest::prelude::*;

use super::{Function, Place, transform};
use crate::abi::DataFunction;
use crate::elements::Element;
use crate::failure::Failure;
use crate::type_handles::predefined;
use crate::types::model::{Recipe, recipe};
use crate::types::{Layout, Type};
use gyre_interpose::Staging;

/// Bytes of a buffer, and where in it transfers have their address: types go either way.
const MEMORY: usize = 1 << 16;

fn memory(seed: usize) -> Vec<u8> {
    (0..MEMORY)
        .map(|place| (place * 7 + place / 256 + seed) as u8)
        .collect()
}

fn place(memory: &mut [u8], of: &Arc<Type>, offset: usize) -> Place {
    Place {
        address: memory[MEMORY / 2..].as_mut_ptr() as usize,
        of: Arc::clone(of),
        offset,
    }
}

fn made(recipe: &Recipe) -> Arc<Type> {
    Arc::new(Type::new(recipe.layout().unwrap(), 1).unwrap())
}

/// Where bytes of a type's data are in the buffer; rejects a type that leaves it.
fn places(recipe: &Recipe, offset: usize, length: usize) -> Result<Vec<usize>, TestCaseError> {
    let of_byte = |at: i64| usize::try_from(MEMORY as i64 / 2 + at).ok();
    recipe
        .model()
        .bytes(offset, length)
        .into_iter()
        .map(|at| of_byte(at).filter(|&at| at < MEMORY))
        .collect::<Option<_>>()
        .ok_or_else(|| TestCaseError::reject("the data leaves the buffer"))
}

fn element(number: usize) -> Arc<Type> {
    predefined(Element::of(number).unwrap())
}

/// A predefined operation by its number.
fn operation(number: usize) -> Function {
    // SAFETY: a number that is not 0 is one of the values of the variables of the interface, and is not called.
    let function = unsafe { std::mem::transmute::<usize, DataFunction>(number) };
    Function {
        function,
        cookie: null_mut(),
    }
}

/// Doubles of `atom` bytes each other apart.
fn strided(number: usize, stride: usize, atom: usize) -> Arc<Type> {
    let mut layout = Layout::EMPTY;
    layout
        .add_typed(&element(number).layout, 0, 4, stride)
        .unwrap();
    Arc::new(Type::new(layout, atom).unwrap())
}

/// Adds bytes, and notes how many came at once.
unsafe extern "C" fn add(
    target: *mut c_void,
    source: *mut c_void,
    bytes: usize,
    cookie: *mut c_void,
) {
    // SAFETY: the library calls it with so many bytes of each, and the test passes a list.
    unsafe {
        (*cookie.cast::<Vec<usize>>()).push(bytes);
        for byte in 0..bytes {
            let to = target.cast::<u8>().add(byte);
            *to = (*to).wrapping_add(*source.cast::<u8>().add(byte));
        }
    }
}

fn adding(calls: &mut Vec<usize>) -> Function {
    Function {
        function: Some(add),
        cookie: std::ptr::from_mut(calls).cast(),
    }
}

proptest! {
    #[test]
    fn x6_data_is_gathered_in_the_order_of_the_type(
        recipe in recipe(), offset in 0usize..100, length in 1usize..200,
    ) {
        let of = made(&recipe);
        prop_assume!(of.size() > 0);
        let places = places(&recipe, offset, length)?;
        let mut from = memory(1);
        let transfer = place(&mut from, &of, offset).transfer(length, Function::COPY).unwrap();
        // SAFETY: the buffer has room on both sides.
        let gathered = unsafe { transfer.gathered() }.unwrap();
        let expected: Vec<u8> = places.iter().map(|&at| from[at]).collect();
        prop_assert_eq!(gathered.bytes(), expected);
    }

    #[test]
    fn x6_data_is_scattered_by_its_type_and_nothing_else_changes(
        recipe in recipe(), offset in 0usize..100, length in 1usize..200,
    ) {
        let of = made(&recipe);
        prop_assume!(of.size() > 0);
        let places = places(&recipe, offset, length)?;
        let mut to = memory(2);
        let mut expected = to.clone();
        let mut data = Staging::zeroed(length).unwrap();
        for (place, byte) in data.bytes_mut().iter_mut().enumerate() {
            *byte = (place * 11) as u8;
        }
        for (at, byte) in places.into_iter().zip(data.bytes()) {
            expected[at] = *byte;
        }
        let transfer = place(&mut to, &of, offset).transfer(length, Function::COPY).unwrap();
        // SAFETY: as above.
        unsafe { transfer.take(data.bytes()) };
        prop_assert!(to == expected);
    }

    #[test]
    fn x6_data_is_transformed_from_one_type_to_another(
        source in recipe(), target in recipe(), offset in 0usize..50, length in 1usize..200,
    ) {
        let (one, other) = (made(&source), made(&target));
        prop_assume!(one.size() > 0 && other.size() > 0);
        let (mut from, mut to) = (memory(3), memory(4));
        let mut expected = to.clone();
        let sources = places(&source, offset, length)?;
        let targets = places(&target, offset / 2, length)?;
        for (at, of) in targets.iter().zip(&sources) {
            expected[*at] = expected[*at].wrapping_add(from[*of]);
        }
        let mut calls = Vec::new();
        let by = adding(&mut calls);
        let (from, place) = (place(&mut from, &one, offset), place(&mut to, &other, offset / 2));
        // SAFETY: as above.
        unsafe { transform(from, place, length, by) }.unwrap();
        prop_assert!(to == expected);
        prop_assert_eq!(calls.iter().sum::<usize>(), length);
    }
}

#[test]
fn x6_data_functions_get_multiples_of_both_atom_sizes() {
    // Doubles 16 bytes apart and ints 12 bytes apart.
    let (doubles, ints) = (strided(13, 16, 8), strided(6, 12, 4));
    for (source, target, atom) in [
        (&ints, &doubles, 8),
        (&doubles, &ints, 8),
        (&ints, &ints, 4),
    ] {
        let (mut from, mut to) = (memory(5), memory(6));
        let mut calls = Vec::new();
        let by = adding(&mut calls);
        let (from, to) = (place(&mut from, source, 8), place(&mut to, target, 16));
        // SAFETY: as above.
        unsafe { transform(from, to, 48, by) }.unwrap();
        assert!(calls.iter().all(|bytes| bytes % atom == 0), "{calls:?}");
        assert_eq!(calls.iter().sum::<usize>(), 48);
    }
}

#[test]
fn x6_data_that_lies_in_a_row_and_is_copied_needs_no_other_memory() {
    let mut buffer = memory(7);
    let base = place(&mut buffer, &element(13), 0).address;
    let direct = |of: &Arc<Type>, by| {
        let place = Place {
            address: base,
            of: Arc::clone(of),
            offset: 24,
        };
        place.transfer(80, by).unwrap().direct()
    };
    let copy = operation(1);
    assert_eq!(direct(&element(13), copy), Some((base + 24) as *mut u8));
    assert_eq!(
        direct(&strided(13, 8, 8), Function::COPY),
        Some((base + 24) as *mut u8)
    );
    assert_eq!(direct(&strided(13, 9, 8), copy), None);
    assert_eq!(direct(&element(13), operation(5)), None);
}

/// The sentence of a refusal.
fn refused<T>(result: Result<T, Failure>) -> String {
    let failure = result.err().expect("refused");
    assert_eq!(failure.code, crate::abi::ResultCode::INVAL);
    failure.text
}

#[test]
fn x5_x6_data_functions_that_do_not_fit_are_refused() {
    let mut buffer = memory(8);
    let mut calls = Vec::new();
    let mut try_with = |of: &Arc<Type>, offset, length, by| {
        refused(place(&mut buffer, of, offset).transfer(length, by))
    };
    let [bytes, doubles] = [element(1), element(13)];
    let by = adding(&mut calls);
    assert_eq!(
        try_with(&doubles, 4, 8, by),
        "8 bytes of data from byte 4 on divide units of 8 bytes"
    );
    assert_eq!(
        try_with(&doubles, 8, 12, operation(5)),
        "12 bytes of data from byte 8 on divide units of 8 bytes"
    );
    assert_eq!(
        try_with(&doubles, 0, 8, operation(15)),
        "0xf is no data function"
    );
    assert_eq!(
        try_with(&doubles, 0, 8, operation(11)),
        "Bor is not an operation on type number 13"
    );
    let mut layout = Layout::EMPTY;
    layout.add_simple(8, 0, 1, 8).unwrap();
    let untyped = Arc::new(Type::new(layout, 8).unwrap());
    assert_eq!(
        try_with(&untyped, 0, 8, operation(5)),
        "an operation on data that is not of one predefined type"
    );
    let empty = Arc::new(Type::new(Layout::EMPTY, 1).unwrap());
    assert_eq!(
        try_with(&empty, 0, 1, Function::COPY),
        "the type has no data"
    );
    let nowhere = Place {
        address: 0,
        of: bytes,
        offset: 0,
    };
    assert_eq!(
        refused(nowhere.transfer(1, Function::COPY)),
        "the data has no address"
    );
}

#[test]
fn x5_x6_operations_on_two_different_types_are_refused() {
    let (mut from, mut to) = (memory(9), memory(10));
    let before = to.clone();
    let mut both = |source: &Arc<Type>, by| {
        let (from, to) = (place(&mut from, source, 0), place(&mut to, &element(13), 0));
        // SAFETY: as above.
        unsafe { transform(from, to, 16, by) }
    };
    assert_eq!(
        refused(both(&element(6), operation(5))),
        "an operation on data of two different predefined types"
    );
    both(&element(6), operation(2)).unwrap();
    both(&element(1), operation(5)).unwrap();
    assert!(to != before);
}
