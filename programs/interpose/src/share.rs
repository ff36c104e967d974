// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shares of the node that the clients of this process have, those of MPI and of PAMI.

use gyre_remote::ClientShare;
use parking_lot::Mutex;

use crate::job::Job;

/// For each share whether a client has it.
static TAKEN: Mutex<Vec<bool>> = Mutex::new(Vec::new());

/// Other clients have all contexts of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "other clients of the program have all contexts of the node: gyre exec divides them among the clients that PAMI_CLIENTS names"
)]
pub struct NoShare;

/// The share of a client, as long as it lasts.
pub struct Taken(pub ClientShare);

impl Taken {
    /// Takes the share of the client of this name, or the first that is free. Clients are created in the same order in all tasks.
    ///
    /// # Errors
    /// [`NoShare`].
    pub fn new(job: &Job, name: &str) -> Result<Self, NoShare> {
        let mut taken = TAKEN.lock();
        let names = &job.description.clients;
        let named = names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name));
        let is_free = |number: &usize| !taken.get(*number).copied().unwrap_or(false);
        let free = named.filter(is_free).or_else(|| (0..).find(is_free));
        let number = free.and_then(|free| u8::try_from(free).ok());
        let share = number.and_then(|number| job.description.share(number));
        let share = share.ok_or(NoShare)?;
        let place = usize::from(share.number);
        if taken.len() <= place {
            taken.resize(place + 1, false);
        }
        taken[place] = true;
        Ok(Self(share))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.lock()[usize::from(self.0.number)] = false;
    }
}
