// SPDX-License-Identifier: MIT OR Apache-2.0
//! The client of the driver that a process's domains share.

use std::sync::{Arc, Weak};

use gyre_collectives::Geometry;
use gyre_driver::{Client, Context};
use gyre_interpose::{Job, Taken};
use gyre_remote::RemotePlatform;
use parking_lot::Mutex;

use crate::boundary::Refusal;

/// The client, as long as a domain is open.
static NODE: Mutex<Weak<Node>> = Mutex::new(Weak::new());

/// The process's part of its node.
pub struct Node {
    /// The job.
    pub job: &'static Job,
    client: Mutex<Option<Client<RemotePlatform>>>,
    /// For each context whether an endpoint has it.
    taken: Mutex<Vec<bool>>,
    /// The client's share of the node, until it has ended.
    share: Taken,
}

impl Node {
    /// The client of the process.
    ///
    /// # Errors
    /// `FI_ENODATA` outside of a job; what the driver refuses.
    pub fn get() -> Result<Arc<Self>, Refusal> {
        let mut known = NODE.lock();
        if let Some(node) = known.upgrade() {
            return Ok(node);
        }
        let job = Job::get().map_err(|_| Refusal(libc::ENODATA))?;
        let share = Taken::new(job, "MPI").map_err(|error| {
            eprintln!("libgyre-fi: {error}");
            Refusal(libc::ENOSPC)
        })?;
        let mut config = job.description.client("mpi", share.0)?;
        // A program that has written into another one's memory waits for its acknowledgement: it comes at once, with those for
        // all that has come besides.
        config.ack.threshold = 1;
        let client = Client::create(&job.platform, config)?;
        let node = Arc::new(Self {
            job,
            taken: Mutex::new(vec![false; usize::from(client.contexts())]),
            client: Mutex::new(Some(client)),
            share,
        });
        *known = Arc::downgrade(&node);
        Ok(node)
    }

    /// Number of the client.
    pub const fn client(&self) -> u8 {
        self.share.0.number
    }

    /// Takes a free context.
    ///
    /// # Errors
    /// `FI_ENOSPC` when endpoints have all.
    pub fn take(&self) -> Result<Context<RemotePlatform>, Refusal> {
        let mut taken = self.taken.lock();
        let free = taken.iter().position(|taken| !taken);
        let free = free.ok_or(Refusal(libc::ENOSPC))?;
        let client = self.client.lock();
        let client = client.as_ref().ok_or(Refusal::INVALID)?;
        // Contexts are few.
        let context = client.create_context(free as u8)?;
        taken[free] = true;
        Ok(context)
    }

    /// Gives a geometry the network's routes.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn on_network(&self, geometry: Geometry) -> Result<Geometry, Refusal> {
        let client = self.client.lock();
        let client = client.as_ref().ok_or(Refusal::INVALID)?;
        geometry.on_network(client).map_err(Refusal::from)
    }

    /// Frees a context after its operations have ended.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn give_back(&self, context: &Context<RemotePlatform>) -> Result<(), Refusal> {
        context.advance_until(|| context.is_at_rest())?;
        let offset = context.query().endpoint.context_offset();
        context.destroy()?;
        self.taken.lock()[usize::from(offset)] = false;
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(client) = self.client.lock().take()
            && let Err(error) = client.destroy()
        {
            eprintln!("libgyre-fi: {error}");
        }
        // Informs the machine, as the process may end now.
        self.job.platform.flush();
    }
}
