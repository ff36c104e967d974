// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces of the data of a transfer.

use std::ops::ControlFlow;

use super::{Body, Layout, Piece};

impl Layout {
    /// Calls `each` for the pieces of bytes `offset..offset + length` of the data, in order, until it breaks. Adjacent pieces
    /// are merged.
    pub fn pieces(
        &self,
        offset: usize,
        length: usize,
        each: &mut dyn FnMut(Piece) -> ControlFlow<()>,
    ) {
        if length == 0 || self.size == 0 {
            return;
        }
        let mut walk = Walk {
            skip: offset % self.size,
            left: length,
            piece: Piece {
                at: offset,
                from: 0,
                bytes: 0,
            },
            stopped: false,
            each,
        };
        if self.is_contiguous() {
            walk.skip = 0;
            walk.bytes(offset, length);
        }
        let mut base = (offset / self.size).wrapping_mul(self.extent);
        while walk.left > 0 {
            walk.layout(self, base);
            base = base.wrapping_add(self.extent);
        }
        if !walk.stopped {
            // It is the last.
            let _ = (walk.each)(walk.piece);
        }
    }
}

/// State of a walk through the data of a transfer.
struct Walk<'a> {
    /// Bytes of the next layout's data to skip.
    skip: usize,
    /// Remaining bytes of the transfer.
    left: usize,
    /// The last piece, which may be extended.
    piece: Piece,
    /// Whether `each` has broken; nothing is left then.
    stopped: bool,
    each: &'a mut dyn FnMut(Piece) -> ControlFlow<()>,
}

impl Walk<'_> {
    /// Walks through one repetition of a layout.
    fn layout(&mut self, layout: &Layout, base: usize) {
        let first = layout
            .parts
            .partition_point(|part| part.start <= self.skip)
            .saturating_sub(1);
        self.skip -= layout.parts[first].start;
        for part in &layout.parts[first..] {
            let size = part.body.size();
            let skipped = self.skip / size;
            self.skip %= size;
            for repetition in skipped..part.count {
                if self.left == 0 {
                    return;
                }
                let at = part.at.wrapping_add(repetition.wrapping_mul(part.stride));
                let at = base.wrapping_add(at);
                match &part.body {
                    Body::Bytes(bytes) => {
                        let skip = std::mem::take(&mut self.skip);
                        self.bytes(at.wrapping_add(skip), bytes - skip);
                    }
                    Body::Layout(layout) => self.layout(layout, at),
                }
            }
        }
    }

    fn bytes(&mut self, at: usize, bytes: usize) {
        let bytes = bytes.min(self.left);
        self.left -= bytes;
        let piece = &mut self.piece;
        if piece.bytes > 0 && piece.at.wrapping_add(piece.bytes) != at {
            if (self.each)(*piece).is_break() {
                (self.stopped, self.left) = (true, 0);
                return;
            }
            piece.from += piece.bytes;
            piece.bytes = 0;
        }
        if piece.bytes == 0 {
            piece.at = at;
        }
        piece.bytes += bytes;
    }
}
