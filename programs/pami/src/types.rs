// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data types: the bytes of a buffer in a transfer, and their order. No memory is accessed here.

mod bytes;
#[cfg(test)]
pub mod model;
#[cfg(test)]
mod tests;
mod walk;

use std::sync::{Arc, OnceLock};

use crate::elements::Element;
use crate::failure::Failure;

/// Deepest nesting of types that do not simplify.
pub const DEEPEST: u32 = 64;

/// Elements of a type's data, for the predefined operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// No data.
    Nothing,
    /// Elements of one predefined type.
    Elements(Element),
    /// Anything else.
    Other,
}

impl Content {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, content) | (content, Self::Nothing) => content,
            (one, other) if one == other => one,
            _ => Self::Other,
        }
    }
}

/// A contiguous piece of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Offset from the address of the buffer; wraps, so it may be negative.
    pub at: usize,
    /// Bytes of the transfer before it.
    pub from: usize,
    /// Its bytes, more than 0.
    pub bytes: usize,
}

/// Repetitions of a block of bytes or of another type.
#[derive(Debug, Clone)]
struct Part {
    /// Bytes of data before it.
    start: usize,
    /// Displacement of the first repetition.
    at: usize,
    count: usize,
    stride: usize,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Bytes(usize),
    Layout(Arc<Layout>),
}

impl Body {
    fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => *bytes,
            Self::Layout(layout) => layout.size,
        }
    }
}

/// Layout of one repetition of a type. Displacements and strides wrap, so they may be negative.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Parts in the order of the data; none is empty.
    parts: Vec<Part>,
    /// Bytes of data.
    size: usize,
    /// The cursor: place of the next block, and finally of the next repetition.
    extent: usize,
    /// Greatest common divisor of the blocks' sizes; 0 if there are none.
    grain: usize,
    content: Content,
    /// Depth of the nesting of its parts.
    depth: u32,
}

impl Layout {
    /// A type without blocks.
    pub const EMPTY: Self = Self {
        parts: Vec::new(),
        size: 0,
        extent: 0,
        grain: 0,
        content: Content::Nothing,
        depth: 0,
    };

    /// Adds blocks of `bytes` bytes.
    ///
    /// # Errors
    /// `PAMI_INVAL` for more data than there are addresses.
    pub fn add_simple(
        &mut self,
        bytes: usize,
        offset: usize,
        count: usize,
        stride: usize,
    ) -> Result<(), Failure> {
        let of = (bytes, Content::Other);
        self.add(Body::Bytes(bytes), of, (offset, count, stride))
    }

    /// Adds the blocks of another type.
    ///
    /// # Errors
    /// `PAMI_INVAL` for more data than there are addresses, and for types nested more than [`DEEPEST`] deep.
    pub fn add_typed(
        &mut self,
        subtype: &Arc<Self>,
        offset: usize,
        count: usize,
        stride: usize,
    ) -> Result<(), Failure> {
        let of = (subtype.grain, subtype.content);
        let body = Body::Layout(Arc::clone(subtype));
        self.add(body, of, (offset, count, stride))
    }

    fn add(
        &mut self,
        body: Body,
        (grain, content): (usize, Content),
        (offset, count, stride): (usize, usize, usize),
    ) -> Result<(), Failure> {
        let at = self.extent.wrapping_add(offset);
        if body.size() > 0 && count > 0 {
            let part = Part {
                start: self.size,
                at,
                count,
                stride,
                body,
            };
            self.push(part.simplified())?;
            self.grain = common_divisor(self.grain, grain);
            self.content = self.content.and(content);
        }
        self.extent = at.wrapping_add(count.wrapping_mul(stride));
        Ok(())
    }

    /// Appends a part.
    fn push(&mut self, part: Part) -> Result<(), Failure> {
        let added = part.body.size().checked_mul(part.count);
        let size = added.and_then(|added| self.size.checked_add(added));
        let size = size.ok_or_else(|| Failure::invalid("more data than there are addresses"))?;
        if let Body::Layout(layout) = &part.body {
            let depth = self.depth.max(layout.depth + 1);
            if depth > DEEPEST {
                let text = format!("types are nested more than {DEEPEST} deep");
                return Err(Failure::invalid(text));
            }
            self.depth = depth;
        }
        self.size = size;
        if let Some(Part {
            at,
            count: 1,
            body: Body::Bytes(bytes),
            ..
        }) = self.parts.last_mut()
            && let (1, Body::Bytes(more)) = (part.count, &part.body)
            && at.wrapping_add(*bytes) == part.at
        {
            *bytes += more;
        } else {
            self.parts.push(part);
        }
        Ok(())
    }

    /// Whether the data of any number of repetitions is contiguous.
    pub fn is_contiguous(&self) -> bool {
        match self.parts.as_slice() {
            [part] => {
                part.at == 0
                    && part.count == 1
                    && matches!(part.body, Body::Bytes(bytes) if bytes == self.extent)
            }
            _ => false,
        }
    }
}

impl Part {
    /// Simplifies it to bytes, or to less nesting, if possible.
    fn simplified(mut self) -> Self {
        if let Body::Layout(layout) = &self.body
            && let [inner] = layout.parts.as_slice()
        {
            let at = self.at.wrapping_add(inner.at);
            if self.count == 1 {
                let start = self.start;
                self = Self {
                    start,
                    at,
                    ..inner.clone()
                };
            } else if inner.count == 1 || inner.stride.wrapping_mul(inner.count) == self.stride {
                if inner.count > 1 {
                    self.stride = inner.stride;
                }
                // At most the data of both, which is checked afterwards.
                let count = self.count.checked_mul(inner.count);
                if let Some(count) = count {
                    self = Self {
                        at,
                        count,
                        body: inner.body.clone(),
                        ..self
                    };
                }
            }
        }
        if let Body::Bytes(bytes) = self.body
            && (self.count == 1 || self.stride == bytes)
            && let Some(bytes) = bytes.checked_mul(self.count)
        {
            self.body = Body::Bytes(bytes);
            self.count = 1;
        }
        self
    }
}

fn common_divisor(one: usize, other: usize) -> usize {
    match other {
        0 => one,
        other => common_divisor(other, one % other),
    }
}

/// A complete type.
#[derive(Debug)]
pub struct Type {
    /// Layout of the data.
    pub layout: Arc<Layout>,
    /// Bytes that data functions never see divided.
    pub atom: usize,
    serialized: OnceLock<Box<[u8]>>,
}

impl Type {
    /// Completes a layout.
    ///
    /// # Errors
    /// `PAMI_INVAL` when blocks are no multiples of the atom size, or that is 0.
    pub fn new(layout: Layout, atom: usize) -> Result<Self, Failure> {
        if atom == 0 || !layout.grain.is_multiple_of(atom) {
            return Err(Failure::invalid(format!(
                "the sizes of the blocks are no multiples of the atom size {atom}"
            )));
        }
        Ok(Self {
            layout: Arc::new(layout),
            atom,
            serialized: OnceLock::new(),
        })
    }

    /// The predefined type of an element.
    pub fn of(element: Element) -> Self {
        let size = element.size();
        let mut layout = Layout::EMPTY;
        let added = layout.add_simple(size, 0, 1, size);
        debug_assert_eq!(added, Ok(()));
        layout.content = Content::Elements(element);
        Self {
            layout: Arc::new(layout),
            atom: size,
            serialized: OnceLock::new(),
        }
    }

    /// Bytes of data.
    pub fn size(&self) -> usize {
        self.layout.size
    }

    /// Distance between repetitions; wraps.
    pub fn extent(&self) -> usize {
        self.layout.extent
    }

    /// The predefined type of all the data, if there is one.
    pub fn element(&self) -> Option<Element> {
        match self.layout.content {
            Content::Elements(element) => Some(element),
            Content::Nothing | Content::Other => None,
        }
    }
}
