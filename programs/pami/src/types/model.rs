// SPDX-License-Identifier: MIT OR Apache-2.0
//! Model of types, byte by byte, for tests of layouts.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;

use super::{Layout, Piece};
use crate::failure::Failure;

/// Blocks of bytes or of another type.
#[derive(Debug, Clone)]
pub struct Blocks {
    what: What,
    offset: i64,
    count: usize,
    stride: i64,
}

#[derive(Debug, Clone)]
enum What {
    Bytes(usize),
    Typed(Recipe),
}

/// Calls that make a type.
#[derive(Debug, Clone)]
pub struct Recipe(Vec<Blocks>);

/// A type as the place of every byte of its data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    /// In the order of the data.
    pub places: Vec<i64>,
    /// From one repetition to the next.
    pub extent: i64,
}

impl Recipe {
    /// The expected type.
    pub fn model(&self) -> Model {
        let mut model = Model::default();
        for blocks in &self.0 {
            let places = match &blocks.what {
                What::Bytes(bytes) => (0..*bytes as i64).collect(),
                What::Typed(recipe) => recipe.model().places,
            };
            model.extent += blocks.offset;
            for _ in 0..blocks.count {
                let at = model.extent;
                model.places.extend(places.iter().map(|place| at + place));
                model.extent += blocks.stride;
            }
        }
        model
    }

    /// The actual layout.
    pub fn layout(&self) -> Result<Layout, Failure> {
        let mut layout = Layout::EMPTY;
        for blocks in &self.0 {
            let (offset, count) = (blocks.offset as usize, blocks.count);
            let stride = blocks.stride as usize;
            match &blocks.what {
                What::Bytes(bytes) => layout.add_simple(*bytes, offset, count, stride)?,
                What::Typed(recipe) => {
                    layout.add_typed(&Arc::new(recipe.layout()?), offset, count, stride)?;
                }
            }
        }
        Ok(layout)
    }
}

impl Model {
    /// Places of bytes `offset..offset + length` of the data.
    pub fn bytes(&self, offset: usize, length: usize) -> Vec<i64> {
        let size = self.places.len();
        let place = |byte| (byte / size) as i64 * self.extent + self.places[byte % size];
        (offset..offset + length).map(place).collect()
    }
}

/// All pieces of a transfer.
pub fn pieces(layout: &Layout, offset: usize, length: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    layout.pieces(offset, length, &mut |piece| {
        pieces.push(piece);
        ControlFlow::Continue(())
    });
    pieces
}

/// The place of every byte of the pieces.
pub fn bytes(pieces: &[Piece]) -> Vec<i64> {
    let of = |piece: &Piece| {
        let at = piece.at as i64;
        (0..piece.bytes as i64).map(move |byte| at + byte)
    };
    pieces.iter().flat_map(of).collect()
}

fn recipe_of(what: impl Strategy<Value = What> + Clone) -> impl Strategy<Value = Recipe> {
    let stride = prop_oneof![Just(None), (-9i64..40).prop_map(Some)];
    let offset = prop_oneof![Just(0), -20i64..20];
    let blocks =
        (what, offset, 0usize..4, stride).prop_map(|(what, offset, count, stride)| Blocks {
            // Sometimes contiguous.
            stride: stride.unwrap_or_else(|| match &what {
                What::Bytes(bytes) => *bytes as i64,
                What::Typed(recipe) => recipe.model().extent,
            }),
            what,
            offset,
            count,
        });
    prop::collection::vec(blocks, 0..4).prop_map(Recipe)
}

/// Recipes of all shapes, nested at most four deep.
pub fn recipe() -> impl Strategy<Value = Recipe> {
    let simple = recipe_of((0usize..9).prop_map(What::Bytes));
    simple.prop_recursive(3, 24, 3, |inner| {
        let what = prop_oneof![
            (0usize..9).prop_map(What::Bytes),
            inner.prop_map(What::Typed)
        ];
        recipe_of(what.boxed())
    })
}
