// SPDX-License-Identifier: MIT OR Apache-2.0
//! Serialized types, for other tasks.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Body, Content, Layout, Part, Type};
use crate::elements::Element;
use crate::failure::Failure;

/// First bytes of a serialized type.
const MARK: u32 = 0x5059_5401;

/// A type whose layouts name each other by number.
#[derive(Serialize, Deserialize)]
struct Flat {
    mark: u32,
    atom: usize,
    /// Each after its nested layouts; the last is the type's.
    layouts: Vec<FlatLayout>,
}

#[derive(Serialize, Deserialize)]
struct FlatLayout {
    extent: usize,
    grain: usize,
    /// The predefined type of all data; 0 if there is none.
    element: usize,
    parts: Vec<FlatPart>,
}

#[derive(Serialize, Deserialize)]
struct FlatPart {
    at: usize,
    count: usize,
    stride: usize,
    body: FlatBody,
}

#[derive(Serialize, Deserialize)]
enum FlatBody {
    Bytes(usize),
    /// A number below that of the layout.
    Layout(usize),
}

/// Numbers of the layouts that were added already.
type Numbers = HashMap<*const Layout, usize>;

impl FlatLayout {
    /// Adds a layout after its nested ones; returns its number.
    fn put(layout: &Layout, layouts: &mut Vec<Self>, numbers: &mut Numbers) -> usize {
        if let Some(&number) = numbers.get(&std::ptr::from_ref(layout)) {
            return number;
        }
        let parts = layout.parts.iter().map(|part| FlatPart {
            at: part.at,
            count: part.count,
            stride: part.stride,
            body: match &part.body {
                Body::Bytes(bytes) => FlatBody::Bytes(*bytes),
                Body::Layout(inner) => FlatBody::Layout(Self::put(inner, layouts, numbers)),
            },
        });
        let parts = parts.collect();
        let element = match layout.content {
            Content::Elements(element) => element.number(),
            Content::Nothing | Content::Other => 0,
        };
        numbers.insert(layout, layouts.len());
        layouts.push(Self {
            extent: layout.extent,
            grain: layout.grain,
            element,
            parts,
        });
        layouts.len() - 1
    }

    /// The layout, if it is consistent.
    fn layout(&self, before: &[Arc<Layout>]) -> Option<Layout> {
        let mut layout = Layout::EMPTY;
        for part in &self.parts {
            let (body, grain) = match part.body {
                FlatBody::Bytes(bytes) => (Body::Bytes(bytes), bytes),
                FlatBody::Layout(number) => {
                    let inner = before.get(number)?;
                    (Body::Layout(Arc::clone(inner)), inner.grain)
                }
            };
            let has_data = body.size() > 0 && part.count > 0;
            if !has_data || self.grain == 0 || !grain.is_multiple_of(self.grain) {
                return None;
            }
            let part = Part {
                start: layout.size,
                at: part.at,
                count: part.count,
                stride: part.stride,
                body,
            };
            layout.push(part).ok()?;
        }
        layout.extent = self.extent;
        layout.grain = self.grain;
        layout.content = match (self.element, self.parts.is_empty()) {
            (0, true) if self.grain == 0 => Content::Nothing,
            (0, false) => Content::Other,
            (number, false) => {
                let element = Element::of(number)?;
                let whole = self.grain.is_multiple_of(element.size());
                whole.then_some(Content::Elements(element))?
            }
            _ => return None,
        };
        Some(layout)
    }
}

impl Type {
    /// Serializes the type.
    pub fn serialized(&self) -> &[u8] {
        self.serialized.get_or_init(|| {
            let mut layouts = Vec::new();
            FlatLayout::put(&self.layout, &mut layouts, &mut Numbers::new());
            let flat = Flat {
                mark: MARK,
                atom: self.atom,
                layouts,
            };
            let bytes = postcard::to_stdvec(&flat).expect("numbers can be written");
            bytes.into_boxed_slice()
        })
    }

    /// Deserializes a type.
    ///
    /// # Errors
    /// `PAMI_INVAL` when they are none.
    pub fn deserialized(bytes: &[u8]) -> Result<Self, Failure> {
        let none = || Failure::invalid(format!("these {} bytes are not a type", bytes.len()));
        let (flat, rest): (Flat, _) = postcard::take_from_bytes(bytes).map_err(|_| none())?;
        if flat.mark != MARK || !rest.is_empty() {
            return Err(none());
        }
        let mut layouts = Vec::new();
        for layout in &flat.layouts {
            let layout = layout.layout(&layouts).ok_or_else(none)?;
            layouts.push(Arc::new(layout));
        }
        let last = layouts.pop().ok_or_else(none)?;
        Self::new(Arc::unwrap_or_clone(last), flat.atom).map_err(|_| none())
    }
}
