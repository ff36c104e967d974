// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers of numbers: typed slices of DMA memory.

use core::marker::PhantomData;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::buffer::BufferRange;
use crate::error::Error;
use crate::platform::{AllocError, DmaBuffer, Platform, RangeError};

/// A type whose values have a plain layout in memory: numbers, arrays of them, and structures that derive the traits of
/// `zerocopy`. Nodes are little-endian, and so is the host.
pub trait Element: FromBytes + IntoBytes + Immutable + Copy {}

impl<T: FromBytes + IntoBytes + Immutable + Copy> Element for T {}

const _: () = assert!(cfg!(target_endian = "little"), "nodes are little-endian");

/// A part of a DMA buffer as elements of type `T`, counted in elements. It keeps the buffer alive; clones are handles
/// to the same memory. Sends, puts and collectives take its [`range`](Self::range).
pub struct BufferSlice<B, T> {
    range: BufferRange<B>,
    elements: PhantomData<fn() -> T>,
}

impl<B, T> Clone for BufferSlice<B, T> {
    fn clone(&self) -> Self {
        Self::of(self.range.clone())
    }
}

impl<B, T> BufferSlice<B, T> {
    fn of(range: BufferRange<B>) -> Self {
        Self {
            range,
            elements: PhantomData,
        }
    }
}

impl<B: DmaBuffer, T: Element> BufferSlice<B, T> {
    /// Bytes of an element.
    const BYTES: usize = {
        assert!(size_of::<T>() > 0, "elements have bytes");
        size_of::<T>()
    };

    /// A new buffer of `len` elements, all bits zero, 64 B aligned.
    ///
    /// # Errors
    /// [`AllocError`] when there is no memory.
    pub fn zeroed<P: Platform<Buffer = B>>(platform: &P, len: usize) -> Result<Self, AllocError> {
        BufferRange::zeroed(platform, len.saturating_mul(Self::BYTES)).map(Self::of)
    }

    /// A new buffer with a copy of `elements`, 64 B aligned. Costs no simulated time.
    ///
    /// # Errors
    /// [`Error::Alloc`] when there is no memory.
    pub fn copied<P: Platform<Buffer = B>>(platform: &P, elements: &[T]) -> Result<Self, Error> {
        BufferRange::copied(platform, elements.as_bytes()).map(Self::of)
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.len() / Self::BYTES
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The bytes of the elements.
    #[must_use]
    pub fn range(&self) -> &BufferRange<B> {
        &self.range
    }

    /// Elements `first..first + len`, sharing the buffer.
    ///
    /// # Errors
    /// [`RangeError`], in bytes, when they leave the slice.
    pub fn part(&self, first: usize, len: usize) -> Result<Self, RangeError> {
        let bytes = |count: usize| count.saturating_mul(Self::BYTES);
        self.range.part(bytes(first), bytes(len)).map(Self::of)
    }

    /// Copies `elements` to element `first` on. Costs no simulated time.
    ///
    /// # Errors
    /// [`RangeError`], in bytes, when they leave the slice.
    pub fn write(&self, first: usize, elements: &[T]) -> Result<(), RangeError> {
        let offset = first.saturating_mul(Self::BYTES);
        self.range.write(offset, elements.as_bytes())
    }

    /// A copy of all elements. Costs no simulated time.
    ///
    /// # Errors
    /// [`RangeError`] when the platform does not read its own memory.
    pub fn to_vec(&self) -> Result<Vec<T>, RangeError> {
        let mut elements = vec![T::new_zeroed(); self.len()];
        self.range.read(0, elements.as_mut_slice().as_mut_bytes())?;
        Ok(elements)
    }
}

/// The elements of type `T` in `bytes`.
///
/// # Errors
/// [`Error::ElementLength`] when they are not a whole number.
pub(crate) fn elements<T: Element>(bytes: &[u8]) -> Result<Vec<T>, Error> {
    let element = const {
        assert!(size_of::<T>() > 0, "elements have bytes");
        size_of::<T>()
    };
    if !bytes.len().is_multiple_of(element) {
        return Err(Error::ElementLength {
            bytes: bytes.len(),
            element,
        });
    }
    let mut elements = vec![T::new_zeroed(); bytes.len() / element];
    elements
        .as_mut_slice()
        .as_mut_bytes()
        .copy_from_slice(bytes);
    Ok(elements)
}
