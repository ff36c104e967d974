// SPDX-License-Identifier: MIT OR Apache-2.0
use std::sync::Arc;

use proptest::prelude::*;

use super::model::{bytes, pieces, recipe};
use super::{DEEPEST, Layout, Piece, Type};
use crate::elements::Element;

fn simple(bytes: usize, offset: usize, count: usize, stride: usize) -> Layout {
    let mut layout = Layout::EMPTY;
    layout.add_simple(bytes, offset, count, stride).unwrap();
    layout
}

fn piece(at: usize, from: usize, bytes: usize) -> Piece {
    Piece { at, from, bytes }
}

proptest! {
    #[test]
    fn x6_pieces_of_a_type_are_the_bytes_of_the_model(
        recipe in recipe(), offset in 0usize..200, length in 0usize..300,
    ) {
        let (model, layout) = (recipe.model(), recipe.layout().unwrap());
        prop_assert_eq!(layout.size, model.places.len());
        prop_assert_eq!(layout.extent as i64, model.extent);
        let pieces = pieces(&layout, offset, length);
        if model.places.is_empty() {
            prop_assert_eq!(pieces, []);
            return Ok(());
        }
        prop_assert_eq!(bytes(&pieces), model.bytes(offset, length));
        let mut from = 0;
        for piece in &pieces {
            prop_assert!(piece.bytes > 0);
            prop_assert_eq!(piece.from, from);
            from += piece.bytes;
        }
        // Pieces that continue each other are one.
        for pair in pieces.windows(2) {
            prop_assert_ne!(pair[0].at.wrapping_add(pair[0].bytes), pair[1].at);
        }
    }

    #[test]
    fn x6_a_contiguous_type_is_one_whose_bytes_lie_in_a_row(recipe in recipe()) {
        let (model, layout) = (recipe.model(), recipe.layout().unwrap());
        let size = model.places.len();
        let in_a_row = size > 0 && model.bytes(0, 2 * size) == Vec::from_iter(0..2 * size as i64);
        // One that is not known to be needs more pieces, and is right still.
        prop_assert!(in_a_row || !layout.is_contiguous());
    }

    #[test]
    fn x6_a_type_survives_being_bytes(
        recipe in recipe(), offset in 0usize..100, length in 0usize..200,
    ) {
        let one = Type::new(recipe.layout().unwrap(), 1).unwrap();
        let other = Type::deserialized(one.serialized()).unwrap();
        prop_assert_eq!(one.serialized(), other.serialized());
        prop_assert_eq!(one.size(), other.size());
        prop_assert_eq!(one.extent(), other.extent());
        prop_assert_eq!(one.layout.grain, other.layout.grain);
        prop_assert_eq!(one.layout.content, other.layout.content);
        prop_assert_eq!(one.layout.depth, other.layout.depth);
        prop_assert_eq!(
            pieces(&one.layout, offset, length),
            pieces(&other.layout, offset, length)
        );
    }

    #[test]
    fn x6_a_part_of_a_types_bytes_is_no_type(recipe in recipe(), cut in any::<prop::sample::Index>()) {
        let whole = Type::new(recipe.layout().unwrap(), 1).unwrap();
        let bytes = whole.serialized();
        prop_assert!(Type::deserialized(&bytes[..cut.index(bytes.len())]).is_err());
        prop_assert!(Type::deserialized(&[bytes, &[0]].concat()).is_err());
    }

    #[test]
    fn x6_changed_bytes_are_no_type_or_a_sound_one(
        recipe in recipe(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        length in 0usize..100,
    ) {
        let whole = Type::new(recipe.layout().unwrap(), 1).unwrap();
        let mut changed = whole.serialized().to_vec();
        let place = place.index(changed.len());
        changed[place] = byte;
        if let Ok(other) = Type::deserialized(&changed) {
            let sum: usize = pieces(&other.layout, 3, length).iter().map(|piece| piece.bytes).sum();
            prop_assert_eq!(sum, if other.size() == 0 { 0 } else { length });
            prop_assert!(other.layout.grain.is_multiple_of(other.atom));
        }
    }
}

#[test]
fn x6_blocks_lie_where_the_cursor_is() {
    let mut layout = simple(4, 8, 2, 16);
    layout.add_simple(2, usize::MAX - 7, 1, 10).unwrap();
    assert_eq!((layout.size, layout.extent), (10, 42));
    let expected = [
        piece(8, 0, 4),
        piece(24, 4, 4),
        piece(32, 8, 2),
        piece(50, 10, 4),
    ];
    assert_eq!(pieces(&layout, 0, 14), expected);
    assert_eq!(pieces(&layout, 9, 3), [piece(33, 0, 1), piece(50, 1, 2)]);
}

#[test]
fn x6_a_count_of_zero_moves_the_cursor_alone() {
    let mut layout = simple(7, 5, 0, 3);
    layout.add_simple(1, 0, 1, 1).unwrap();
    assert_eq!((layout.size, layout.extent), (1, 6));
    assert_eq!(layout.grain, 1);
    assert_eq!(pieces(&layout, 1, 1), [piece(11, 0, 1)]);
}

#[test]
fn x6_types_that_lie_in_a_row_are_one_piece() {
    let row = Arc::new(simple(8, 0, 4, 8));
    let mut rows = Layout::EMPTY;
    rows.add_typed(&row, 0, 1 << 40, 32).unwrap();
    assert!(rows.is_contiguous());
    assert_eq!(pieces(&rows, 5, 1 << 44), [piece(5, 0, 1 << 44)]);
    // Blocks count, not pieces.
    assert!(Type::new(rows.clone(), 8).is_ok());
    assert!(Type::new(rows, 16).is_err());
}

#[test]
fn x6_offsets_are_found_in_types_of_any_length() {
    let mut pair = simple(4, 0, 1, 8);
    pair.add_simple(4, 4, 1, 8).unwrap();
    let mut many = Layout::EMPTY;
    many.add_typed(&Arc::new(pair), 0, 1 << 50, 32).unwrap();
    assert_eq!(many.depth, 1);
    let last = (1usize << 50) - 1;
    let expected = [piece(last * 32 + 1, 0, 3), piece(last * 32 + 12, 3, 4)];
    assert_eq!(pieces(&many, last * 8 + 1, 7), expected);
}

#[test]
fn x5_x6_atom_sizes_that_divide_blocks_are_refused() {
    let mut layout = simple(12, 0, 2, 20);
    layout.add_simple(8, 0, 1, 8).unwrap();
    for atom in [1, 2, 4] {
        assert!(Type::new(layout.clone(), atom).is_ok());
    }
    for atom in [0, 3, 8, 12] {
        let text = Type::new(layout.clone(), atom).unwrap_err().text;
        assert!(text.ends_with(&format!("atom size {atom}")), "{text}");
    }
    assert!(Type::new(Layout::EMPTY, 5).is_ok());
}

#[test]
fn x5_x6_more_data_than_addresses_is_refused_and_changes_nothing() {
    let mut layout = simple(8, 0, 1, 8);
    for (bytes, count) in [(8, usize::MAX), (usize::MAX, 1), (usize::MAX / 2, 3)] {
        let failure = layout.add_simple(bytes, 4, count, 1).unwrap_err();
        assert_eq!(failure.text, "more data than there are addresses");
    }
    let huge = Arc::new(simple(1 << 40, 0, 1 << 20, 1 << 41));
    assert!(layout.add_typed(&huge, 0, 16, 1 << 41).is_err());
    assert_eq!((layout.size, layout.extent, layout.grain), (8, 8, 8));
    assert!(layout.is_contiguous());
}

#[test]
fn x5_x6_types_nested_too_deep_are_refused() {
    // Of two parts each, which do not simplify.
    let mut inner = simple(1, 0, 1, 3);
    inner.add_simple(1, 0, 1, 3).unwrap();
    let mut inner = Arc::new(inner);
    for depth in 1..=DEEPEST {
        let mut outer = simple(1, 0, 1, 3);
        outer.add_typed(&inner, 0, 1, 7).unwrap();
        assert_eq!(outer.depth, depth);
        inner = Arc::new(outer);
    }
    let mut outer = simple(1, 0, 1, 3);
    let failure = outer.add_typed(&inner, 0, 1, 7).unwrap_err();
    assert_eq!(failure.text, "types are nested more than 64 deep");
    assert_eq!((outer.depth, outer.size, outer.extent), (0, 1, 3));
    // As bytes, too, and all of it is there.
    let deep = Type::new(Arc::unwrap_or_clone(inner), 1).unwrap();
    let again = Type::deserialized(deep.serialized()).unwrap();
    assert_eq!(again.layout.depth, DEEPEST);
    let last = deep.size() - 1;
    assert_eq!(
        pieces(&again.layout, last, 1),
        pieces(&deep.layout, last, 1)
    );
}

#[test]
fn x6_the_elements_of_a_type_are_known() {
    let [int, double] = [6, 13].map(|number| Type::of(Element::of(number).unwrap()));
    let mut layout = Layout::EMPTY;
    layout.add_typed(&double.layout, 8, 3, 16).unwrap();
    layout.add_simple(5, 0, 0, 1).unwrap();
    layout.add_typed(&double.layout, 0, 2, 8).unwrap();
    let doubles = Type::new(layout.clone(), 8).unwrap();
    assert_eq!(doubles.element(), Element::of(13));
    let again = Type::deserialized(doubles.serialized()).unwrap();
    assert_eq!(again.element(), Element::of(13));
    let mut mixed = layout.clone();
    mixed.add_typed(&int.layout, 0, 1, 8).unwrap();
    assert_eq!(Type::new(mixed, 4).unwrap().element(), None);
    layout.add_simple(8, 0, 1, 8).unwrap();
    assert_eq!(Type::new(layout, 8).unwrap().element(), None);
}
