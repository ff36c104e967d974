// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use gyre_collectives::{Collectives, Geometry};
use gyre_driver::{
    Client as DriverClient, Context as DriverContext, Endpoint, Network, Platform as _, TaskId,
};
use gyre_remote::RemotePlatform;
use parking_lot::Mutex;

use crate::abi;
use crate::agreement::{self, Agreement};
use crate::amcollective::calls::Calls;
use crate::boundary;
use crate::endpoint_code::parts;
use crate::failure::Failure;
use crate::group::{GEOMETRIES, Group};
use crate::handles::Handles;
use crate::headers::Headers;
use gyre_interpose::{Job, Taken};

/// All clients of the process.
pub static CLIENTS: Handles<Client> = Handles::new("client", 0x100);

/// First poll of a task that waits for the others of its job, picoseconds, and later polls as a fraction of its wait.
const LOOK_AGAIN_PS: u64 = 1_000_000;
const WAIT_PARTS: u64 = 8;

/// Polls of a client that ends, before it sleeps between them.
const QUICK_POLLS: u32 = 4096;

/// A client. Its contexts are opened and closed with it, between barriers of the job, as other tasks may send to a context that
/// this task has not created yet, or has destroyed.
pub struct Client {
    /// Its handle.
    pub handle: usize,
    /// The job.
    pub job: &'static Job,
    driver: Mutex<Option<Arc<DriverClient<RemotePlatform>>>>,
    /// The contexts of the driver, by offset.
    pub contexts: Vec<DriverContext<RemotePlatform>>,
    /// Contexts that the program has created.
    pub created: Mutex<Vec<usize>>,
    /// The collectives of each context.
    pub collectives: Vec<Collectives<RemotePlatform>>,
    /// The long headers of each context.
    pub headers: Vec<Arc<Headers>>,
    /// The active-message collectives of each context.
    pub calls: Vec<Arc<Calls>>,
    /// Agreement of the tasks on geometries.
    pub agreement: Arc<Agreement>,
    /// Numbers of geometries, as the program gives them, that are in use in this task.
    pub ids: Mutex<BTreeSet<u32>>,
    /// Handle of the geometry of all tasks.
    pub world: usize,
    /// Its share of the node, until all else has ended.
    _share: Taken,
}

impl Client {
    fn open(name: &str, handle: usize) -> Result<Self, Failure> {
        let job = Job::get()?;
        let share = Taken::new(job, name)?;
        let config = job.description.client(name, share.0)?;
        let driver = DriverClient::create(&job.platform, config)?;
        let contexts = (0..driver.contexts()).map(|offset| driver.create_context(offset));
        let contexts = contexts.collect::<Result<Vec<_>, _>>()?;
        let agreement = Agreement::new(job.description.task, driver.tasks().len());
        let (mut collectives, mut headers, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for context in &contexts {
            headers.push(Headers::attach(context)?);
            calls.push(Calls::attach(context, handle)?);
            collectives.push(Collectives::attach(context, agreement::COLLECTIVES)?);
            agreement.attach(context)?;
        }
        let geometry = Geometry::world(&driver, "world", 0, 1)?.on_network(&driver)?;
        let member = (0, Arc::new(collectives[0].join(&geometry)?));
        let world = GEOMETRIES.add(|_| Ok::<_, Failure>(Group::world(handle, geometry, member)))?;
        // A message may arrive before the program has set its dispatch.
        meet(job, |until_ps| {
            job.platform.sleep_until(until_ps);
            Ok(())
        })?;
        Ok(Self {
            handle,
            job,
            driver: Mutex::new(Some(Arc::new(driver))),
            contexts,
            created: Mutex::default(),
            collectives,
            headers,
            calls,
            agreement,
            ids: Mutex::default(),
            world,
            _share: share,
        })
    }

    /// A geometry of these endpoints, the same in all tasks. A task may have several members.
    ///
    /// # Errors
    /// `PAMI_INVAL` for endpoints that make none.
    pub fn geometry(
        &self,
        name: &str,
        number: u16,
        endpoints: &[Endpoint],
    ) -> Result<Geometry, Failure> {
        let geometry = Geometry::each_endpoint(name, number, endpoints.iter().copied())?;
        Ok(geometry.on_network(&*self.driver()?)?)
    }

    /// The machine's network.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn network(&self) -> Result<Network, Failure> {
        Ok(self.driver()?.network()?)
    }

    /// The driver's client. Other threads of the task run while it is used.
    fn driver(&self) -> Result<Arc<DriverClient<RemotePlatform>>, Failure> {
        let driver = self.driver.lock().clone();
        driver.ok_or_else(|| Failure::invalid("the client has ended"))
    }

    /// Destroys the client after the barrier of all tasks.
    fn close(&self) -> Result<(), Failure> {
        let advance = || {
            self.contexts
                .iter()
                .try_for_each(|c| c.advance(1).map(|_| ()))
        };
        let mut polls = 0;
        while !self.contexts.iter().all(DriverContext::is_at_rest) {
            advance()?;
            polls += 1;
            if polls > QUICK_POLLS {
                // The other side may have ended: then nothing will come, which the machine finds out by such waits.
                let pause_ps = self.job.platform.now_ps() + LOOK_AGAIN_PS;
                self.contexts[0].wait(Some(pause_ps))?;
            }
        }
        meet(self.job, |until_ps| {
            advance()?;
            self.contexts[0].wait(Some(until_ps))?;
            Ok(())
        })?;
        GEOMETRIES.remove_all(|group| group.client == self.handle);
        for context in &self.contexts {
            context.destroy()?;
        }
        let driver = self.driver.lock().take();
        if let Some(driver) = driver.and_then(Arc::into_inner) {
            driver.destroy()?;
        }
        Ok(())
    }

    /// The endpoint of a code.
    ///
    /// # Errors
    /// `PAMI_INVAL` for an invalid one.
    pub fn endpoint(&self, code: abi::Endpoint) -> Result<Endpoint, Failure> {
        let (task, offset) = parts(code);
        Ok(self.contexts[0].endpoint(TaskId(task), offset)?)
    }
}

/// Enters a barrier of the job; calls `sleep` with a time between polls until all tasks have entered it.
fn meet(job: &Job, sleep: impl Fn(u64) -> Result<(), Failure>) -> Result<(), Failure> {
    job.platform.arrive();
    let come_ps = job.platform.now_ps();
    while !job.platform.have_arrived() {
        let now_ps = job.platform.now_ps();
        // Few further polls for a task that is much later; the delay is at most a fraction of the wait.
        let waited_ps = now_ps.saturating_sub(come_ps);
        sleep(now_ps + LOOK_AGAIN_PS.max(waited_ps / WAIT_PARTS))?;
    }
    Ok(())
}

/// C: `PAMI_Client_create`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Client_create(
    name: *const c_char,
    client: *mut abi::Client,
    _configuration: *mut abi::Configuration,
    num_configs: usize,
) -> abi::ResultCode {
    boundary::result(|| {
        if name.is_null() || client.is_null() {
            return Err(Failure::invalid("name or client is null"));
        }
        if num_configs > 0 {
            return Err(Failure::invalid("a client takes no settings"));
        }
        // SAFETY: the program passes text that ends with a zero.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let handle = CLIENTS.add(|handle| Client::open(&name, handle))?;
        // SAFETY: the program passes a place for the handle.
        unsafe { client.write(handle as *mut c_void) };
        Ok(())
    })
}

/// C: `PAMI_Client_destroy`.
///
/// # Safety
/// As [`PAMI_Client_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Client_destroy(client: *mut abi::Client) -> abi::ResultCode {
    boundary::result(|| {
        if client.is_null() {
            return Err(Failure::invalid("client is null"));
        }
        // SAFETY: the program passes a place with a handle.
        let handle = unsafe { client.read() };
        let found: Arc<Client> = CLIENTS.get(handle)?;
        if !found.created.lock().is_empty() {
            return Err(Failure::invalid("the client still has contexts"));
        }
        CLIENTS.remove(handle)?;
        // SAFETY: as above.
        unsafe { client.write(std::ptr::null_mut()) };
        let job = found.job;
        let closed = found.close();
        // Frees its resources of the node and informs the machine, as the process may end now.
        drop(found);
        job.platform.flush();
        closed
    })
}
