// SPDX-License-Identifier: MIT OR Apache-2.0
//! Early messages: their collective or receive is not ready.

use std::collections::BTreeMap;

use gyre_driver::Platform;

use super::payload::Payload;
use crate::header::Header;
use crate::signature::Signature;

/// An early message.
pub(super) struct Early<P: Platform> {
    pub header: Header,
    pub data: Payload<'static, P>,
}

/// Early messages, by the number of their collective.
pub(super) struct EarlyMessages<P: Platform>(BTreeMap<u32, Vec<Early<P>>>);

impl<P: Platform> Default for EarlyMessages<P> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<P: Platform> EarlyMessages<P> {
    /// Keeps a message.
    pub fn keep(&mut self, early: Early<P>) {
        self.0.entry(early.header.sequence).or_default().push(early);
    }

    /// Removes the messages of a collective.
    pub fn take_all(&mut self, sequence: u32) -> Vec<Early<P>> {
        self.0.remove(&sequence).unwrap_or_default()
    }

    /// Removes a data message of a collective by rank and tag.
    pub fn take(&mut self, sequence: u32, key: (u32, u32)) -> Option<Early<P>> {
        let list = self.0.get_mut(&sequence)?;
        let at = list.iter().position(|early| {
            let header = &early.header;
            (header.from, header.tag) == key && header.form.is_data()
        })?;
        Some(list.remove(at))
    }

    /// Signature of a collective, from its first message.
    pub fn signature(&self, sequence: u32) -> Option<Signature> {
        Some(self.0.get(&sequence)?.first()?.header.signature)
    }

    /// First fault that `fault` finds in the messages of a starting collective. Messages without data are dropped.
    pub fn begin<E>(&mut self, sequence: u32, fault: impl Fn(&Header) -> Option<E>) -> Option<E> {
        let list = self.0.get_mut(&sequence)?;
        let fault = list.iter().find_map(|early| fault(&early.header));
        list.retain(|early| early.header.form.is_data());
        fault
    }
}
