// SPDX-License-Identifier: MIT OR Apache-2.0
//! Done callbacks by number: protocols keep the number, the interface keeps the function.

use core::num::NonZeroU32;

/// Names one done callback of a context until it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DoneId {
    slot: u32,
    /// Serial number of the use of the slot.
    serial: NonZeroU32,
}

/// The done callbacks of a context that have not been called.
///
/// **Invariant:** a callback is taken out once, so it is called once, however often its number is used.
#[derive(Debug)]
pub(crate) struct DoneTable<F> {
    slots: Vec<Slot<F>>,
    free: Vec<u32>,
    /// Callbacks inserted so far.
    inserted: u64,
}

#[derive(Debug)]
struct Slot<F> {
    serial: NonZeroU32,
    /// The callback, and how many were inserted before it.
    entry: Option<(u64, F)>,
}

impl<F> DoneTable<F> {
    /// A table without callbacks.
    pub const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            inserted: 0,
        }
    }

    /// Keeps a callback and returns its number.
    pub fn insert(&mut self, callback: F) -> DoneId {
        let entry = Some((self.inserted, callback));
        self.inserted += 1;
        if let Some(slot) = self.free.pop() {
            let place = &mut self.slots[slot as usize];
            place.serial = place.serial.checked_add(1).unwrap_or(NonZeroU32::MIN);
            place.entry = entry;
            return DoneId {
                slot,
                serial: place.serial,
            };
        }
        // Slots take memory: fewer than 2^32 exist.
        let slot = self.slots.len() as u32;
        let serial = NonZeroU32::MIN;
        self.slots.push(Slot { serial, entry });
        DoneId { slot, serial }
    }

    /// Takes a callback out; `None` when it has been called.
    pub fn take(&mut self, id: DoneId) -> Option<F> {
        let place = self.slots.get_mut(id.slot as usize)?;
        if place.serial != id.serial {
            return None;
        }
        let (_, callback) = place.entry.take()?;
        self.free.push(id.slot);
        Some(callback)
    }

    /// Takes all callbacks out, in the order inserted.
    pub fn take_all(&mut self) -> Vec<F> {
        let places = self.slots.iter_mut().zip(0..);
        let mut taken = Vec::new();
        for (place, slot) in places {
            if let Some(entry) = place.entry.take() {
                taken.push(entry);
                self.free.push(slot);
            }
        }
        taken.sort_by_key(|(order, _)| *order);
        taken.into_iter().map(|(_, callback)| callback).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ep3_a_done_callback_is_taken_once_and_its_slot_reused() {
        let mut table = DoneTable::new();
        let first = table.insert('a');
        assert_eq!(table.take(first), Some('a'));
        assert_eq!(table.take(first), None);
        let second = table.insert('b');
        assert_eq!(second.slot, first.slot);
        assert_eq!(table.take(first), None);
        assert_eq!(table.take(second), Some('b'));
    }

    #[test]
    fn ep3_remaining_callbacks_are_taken_in_insertion_order() {
        let mut table = DoneTable::new();
        let ids: Vec<DoneId> = "abcd".chars().map(|c| table.insert(c)).collect();
        assert_eq!(table.take(ids[1]), Some('b'));
        table.insert('e');
        assert_eq!(table.take_all(), ['a', 'c', 'd', 'e']);
        assert!(table.take_all().is_empty());
        assert_eq!(table.take(ids[0]), None);
    }
}
