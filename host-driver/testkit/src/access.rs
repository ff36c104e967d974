// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of software to a node that the node refuses.

/// An access of software to its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A register is read; its address.
    Read(u64),
    /// A register is written; its address.
    Write(u64),
    /// DMA memory is allocated; its bytes.
    Alloc(usize),
    /// A handle of a shared segment is taken; its number.
    Share(u32),
}

/// Which accesses a node refuses.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// Accesses of the class.
    pub class: fn(Access) -> bool,
    /// How many of them pass first.
    pub after: u64,
    /// How many are refused then.
    pub count: u64,
}

impl Refusal {
    /// Access number `n`, from 0 on, of any kind.
    #[must_use]
    pub const fn nth(n: u64) -> Self {
        Self {
            class: |_| true,
            after: n,
            count: 1,
        }
    }

    /// Every access of a class.
    #[must_use]
    pub const fn every(class: fn(Access) -> bool) -> Self {
        Self {
            class,
            after: 0,
            count: u64::MAX,
        }
    }
}

/// The gate of a node's accesses.
#[derive(Default)]
pub(crate) struct Gate {
    refusal: Option<Refusal>,
    refused: Vec<Access>,
}

impl Gate {
    /// Refuses from now on as `refusal` says; the accesses that were refused before.
    pub fn set(&mut self, refusal: Option<Refusal>) -> Vec<Access> {
        self.refusal = refusal;
        core::mem::take(&mut self.refused)
    }

    /// Whether an access passes.
    pub fn passes(&mut self, access: Access) -> bool {
        let Some(refusal) = self.refusal.as_mut().filter(|r| (r.class)(access)) else {
            return true;
        };
        if refusal.after > 0 {
            refusal.after -= 1;
            return true;
        }
        if refusal.count == 0 {
            return true;
        }
        refusal.count -= 1;
        self.refused.push(access);
        false
    }
}
