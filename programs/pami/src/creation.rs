// SPDX-License-Identifier: MIT OR Apache-2.0
//! The creation of geometries.

use std::ffi::c_void;
use std::sync::{Arc, Weak};

use gyre_driver::{Endpoint, TaskId};

use crate::abi;
use crate::agreement::Name;
use crate::boundary;
use crate::client::{CLIENTS, Client};
use crate::context::{CONTEXTS, Context};
use crate::event::Event;
use crate::failure::Failure;
use crate::group::{GEOMETRIES, Group, tasks_of};
use crate::optimization::{begin_update, call_later, settings};

/// Arguments common to the functions that create a geometry.
struct Creation {
    client: Arc<Client>,
    context: Arc<Context>,
    id: u32,
    /// Whether the geometry gets routes of the collective network.
    optimize: bool,
    event: Event,
}

impl Creation {
    /// # Safety
    /// The program keeps to what `pami.h` says of the arguments.
    unsafe fn new(
        client: abi::Client,
        context: abi::Context,
        (configuration, count): (*const abi::Configuration, usize),
        id: u32,
        (function, cookie): (abi::EventFunction, *mut c_void),
    ) -> Result<Self, Failure> {
        let client = CLIENTS.get(client)?;
        let context = CONTEXTS.get(context)?;
        if !Arc::ptr_eq(&client, &context.client) {
            return Err(Failure::invalid("the context is of another client"));
        }
        if id == 0 {
            return Err(Failure::invalid("0 is the number of the world"));
        }
        // SAFETY: what the caller promises.
        let optimize = unsafe { settings(configuration, count)? };
        Ok(Self {
            event: Event::new(context.handle, function, cookie),
            client,
            context,
            id,
            optimize: optimize.unwrap_or(false),
        })
    }

    fn tasks(&self) -> usize {
        self.client.job.description.nodes.len()
    }

    /// The endpoints at `offset` of tasks.
    fn endpoints(
        &self,
        offset: usize,
        tasks: impl Iterator<Item = abi::Task>,
    ) -> Result<Vec<Endpoint>, Failure> {
        let contexts = self.client.contexts.len();
        let offsets = match offset {
            // All created contexts; the other tasks have created as many.
            usize::MAX => 0..self.client.created.lock().len(),
            _ if offset < contexts => offset..offset + 1,
            _ => return Err(Failure::invalid(format!("no context has offset {offset}"))),
        };
        let mut endpoints = Vec::new();
        for task in tasks {
            for offset in offsets.clone() {
                // Below the number of contexts, which is one byte.
                let endpoint = self.client.contexts[0].endpoint(TaskId(task), offset as u8)?;
                endpoints.push(endpoint);
            }
        }
        Ok(endpoints)
    }

    /// Begins to create a geometry. Returns its handle, or null in a task of the parent that does not belong to it.
    fn begin(
        self,
        endpoints: Vec<Endpoint>,
        parent: Option<&Group>,
    ) -> Result<abi::Geometry, Failure> {
        // Refuses an invalid list.
        self.client.geometry("new", 0, &endpoints)?;
        let tasks = tasks_of(&endpoints);
        let task = TaskId(self.client.job.description.task);
        if let Some(parent) = parent {
            let known = tasks_of(&parent.endpoints);
            let all = tasks.iter().chain([&task]);
            if let Some(outside) = all.copied().find(|task| !known.contains(task)) {
                let text = format!("{outside} does not belong to the parent");
                return Err(Failure::invalid(text));
            }
        }
        let own: Vec<u8> = endpoints
            .iter()
            .filter(|e| e.task() == task)
            .map(|e| e.context_offset())
            .collect();
        if own.is_empty() && parent.is_none() {
            return Err(Failure::invalid(
                "this task does not belong to the geometry",
            ));
        }
        if own.is_empty() {
            call_later(&self.context, self.event, Ok(()))?;
            return Ok(std::ptr::null_mut());
        }
        if !self.client.ids.lock().insert(self.id) {
            let text = format!("a geometry of this task has number {} already", self.id);
            return Err(Failure::invalid(text));
        }
        let name = Name {
            id: self.id,
            members: hash(&endpoints),
        };
        let root = endpoints[0];
        let handle = GEOMETRIES
            .add(|_| Ok::<_, Failure>(Group::new(self.client.handle, name, endpoints)))?;
        let group = GEOMETRIES.get(handle as abi::Geometry)?;
        let asked = self.client.agreement.ask(
            self.context.driver(),
            // At most as many as the job has.
            (name, root, tasks.len() as u32),
            {
                let client = Arc::downgrade(&self.client);
                let (context, event) = (Arc::downgrade(&self.context), self.event);
                let optimize = self.optimize;
                Box::new(move |number| {
                    let made = make(&client, &group, number, &own);
                    match (made, optimize) {
                        (Ok(()), true) => begin_update(&context, &group, true, event),
                        (made, _) => event.end(made),
                    }
                    // Others may have called already; the event may have set the receivers.
                    let client = client.upgrade();
                    for client in client.iter() {
                        let contexts = client.calls.iter().zip(&client.contexts);
                        contexts.for_each(|(calls, context)| calls.made(context));
                    }
                })
            },
        );
        if let Err(error) = asked {
            self.client.ids.lock().remove(&self.id);
            GEOMETRIES.remove(handle as abi::Geometry)?;
            return Err(error.into());
        }
        Ok(handle as abi::Geometry)
    }
}

/// A hash of endpoints (FNV-1a of context and task), the same in all tasks.
fn hash(endpoints: &[Endpoint]) -> u64 {
    let bytes = endpoints.iter().flat_map(|endpoint| {
        let [low, middle, high, _] = endpoint.task().0.to_le_bytes();
        [endpoint.context_offset(), low, middle, high]
    });
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Joins a geometry that all tasks have created with the endpoints of this task.
fn make(
    client: &Weak<Client>,
    group: &Group,
    number: Option<u16>,
    own: &[u8],
) -> Result<(), Failure> {
    let Some(client) = client.upgrade() else {
        return Err(Failure::invalid("the client has ended"));
    };
    let Some(number) = number else {
        return Err(Failure {
            code: abi::ResultCode::ENOMEM,
            text: "the first task of the geometry has no number left for it".into(),
        });
    };
    let name = format!("geometry {}", group.name.id);
    let geometry = client.geometry(&name, number, &group.endpoints)?;
    let members = own.iter().map(|&offset| {
        let joined = client.collectives[usize::from(offset)].join(&geometry);
        Ok((offset, Arc::new(joined?)))
    });
    let members = members.collect::<Result<Vec<_>, Failure>>()?;
    group.make(geometry, members);
    Ok(())
}

/// The elements of an array that a program passes, of which at most `most` differ.
///
/// # Safety
/// `array` points to `count` elements.
unsafe fn elements<T: Copy>(
    array: *const T,
    count: usize,
    (most, what): (usize, &str),
) -> Result<Vec<T>, Failure> {
    if array.is_null() || count == 0 {
        return Err(Failure::invalid(format!(
            "the list of {what} is empty or null"
        )));
    }
    if count > most {
        return Err(Failure::invalid(format!(
            "a list of {count} {what} has some twice, as there are {most}"
        )));
    }
    // SAFETY: what the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(array, count) }.to_vec())
}

/// A parent, unless it is null; `offset` is that of the contexts that take part.
fn parent_of(
    creation: &Creation,
    parent: abi::Geometry,
    offset: usize,
) -> Result<Option<Arc<Group>>, Failure> {
    if parent.is_null() {
        return Ok(None);
    }
    // A task with one context takes part with that in a parent.
    if offset == usize::MAX && creation.client.created.lock().len() > 1 {
        return Err(Failure::invalid("a geometry of all contexts has no parent"));
    }
    let parent = GEOMETRIES.get(parent)?;
    if parent.client != creation.client.handle {
        return Err(Failure::invalid("the parent is of another client"));
    }
    parent.made()?;
    Ok(Some(parent))
}

/// Writes the handle of a geometry that `begin` begins to create.
///
/// # Safety
/// `geometry` is null or a place for a handle.
unsafe fn create(
    geometry: *mut abi::Geometry,
    begin: impl FnOnce() -> Result<abi::Geometry, Failure>,
) -> abi::ResultCode {
    boundary::result(|| {
        if geometry.is_null() {
            return Err(Failure::invalid("geometry is null"));
        }
        let handle = begin()?;
        // SAFETY: what the caller promises.
        unsafe { geometry.write(handle) };
        Ok(())
    })
}

/// C: `PAMI_Geometry_create_taskrange`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_create_taskrange(
    client: abi::Client,
    context_offset: usize,
    configuration: *mut abi::Configuration,
    num_configs: usize,
    geometry: *mut abi::Geometry,
    parent: abi::Geometry,
    id: u32,
    task_slices: *mut abi::GeometryRange,
    slice_count: usize,
    context: abi::Context,
    function: abi::EventFunction,
    cookie: *mut c_void,
) -> abi::ResultCode {
    let settings = (configuration.cast_const(), num_configs);
    let begin = || {
        // SAFETY: what the program keeps to.
        let creation = unsafe { Creation::new(client, context, settings, id, (function, cookie))? };
        // SAFETY: the program passes this many ranges.
        let slices = unsafe {
            elements(
                task_slices,
                slice_count,
                (creation.tasks(), "ranges of tasks"),
            )?
        };
        if let Some(wrong) = slices
            .iter()
            .find(|slice| slice.lo > slice.hi || slice.hi as usize >= creation.tasks())
        {
            let text = format!("tasks {} to {} do not exist", wrong.lo, wrong.hi);
            return Err(Failure::invalid(text));
        }
        let listed: usize = slices
            .iter()
            .map(|slice| (slice.hi - slice.lo) as usize + 1)
            .sum();
        if listed > creation.tasks() {
            return Err(Failure::invalid("the ranges have some tasks twice"));
        }
        let tasks = slices.iter().flat_map(|slice| slice.lo..=slice.hi);
        let endpoints = creation.endpoints(context_offset, tasks)?;
        let parent = parent_of(&creation, parent, context_offset)?;
        creation.begin(endpoints, parent.as_deref())
    };
    // SAFETY: the program passes a place for the handle.
    unsafe { create(geometry, begin) }
}

/// C: `PAMI_Geometry_create_tasklist`.
///
/// # Safety
/// As [`PAMI_Geometry_create_taskrange`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_create_tasklist(
    client: abi::Client,
    context_offset: usize,
    configuration: *mut abi::Configuration,
    num_configs: usize,
    geometry: *mut abi::Geometry,
    parent: abi::Geometry,
    id: u32,
    tasks: *mut abi::Task,
    task_count: usize,
    context: abi::Context,
    function: abi::EventFunction,
    cookie: *mut c_void,
) -> abi::ResultCode {
    let settings = (configuration.cast_const(), num_configs);
    let begin = || {
        // SAFETY: what the program keeps to.
        let creation = unsafe { Creation::new(client, context, settings, id, (function, cookie))? };
        // SAFETY: the program passes this many tasks.
        let tasks = unsafe { elements(tasks, task_count, (creation.tasks(), "tasks"))? };
        let endpoints = creation.endpoints(context_offset, tasks.into_iter())?;
        let parent = parent_of(&creation, parent, context_offset)?;
        creation.begin(endpoints, parent.as_deref())
    };
    // SAFETY: the program passes a place for the handle.
    unsafe { create(geometry, begin) }
}

/// C: `PAMI_Geometry_create_endpointlist`.
///
/// # Safety
/// As [`PAMI_Geometry_create_taskrange`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_create_endpointlist(
    client: abi::Client,
    configuration: *mut abi::Configuration,
    num_configs: usize,
    geometry: *mut abi::Geometry,
    id: u32,
    endpoints: *mut abi::Endpoint,
    endpoint_count: usize,
    context: abi::Context,
    function: abi::EventFunction,
    cookie: *mut c_void,
) -> abi::ResultCode {
    let settings = (configuration.cast_const(), num_configs);
    let begin = || {
        // SAFETY: what the program keeps to.
        let creation = unsafe { Creation::new(client, context, settings, id, (function, cookie))? };
        let most = creation.tasks() * creation.client.contexts.len();
        // SAFETY: the program passes this many endpoints.
        let codes = unsafe { elements(endpoints, endpoint_count, (most, "endpoints"))? };
        let endpoints = codes.into_iter().map(|code| creation.client.endpoint(code));
        let endpoints = endpoints.collect::<Result<Vec<_>, _>>()?;
        creation.begin(endpoints, None)
    };
    // SAFETY: the program passes a place for the handle.
    unsafe { create(geometry, begin) }
}
