// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geometries: the world, destruction, attributes.

use std::ffi::c_void;
use std::sync::Arc;

use gyre_collectives::{Done, Member, Request};
use gyre_remote::RemotePlatform;

use crate::abi::{self, AttributeName, AttributeValue};
use crate::boundary;
use crate::client::CLIENTS;
use crate::context::{CONTEXTS, Context};
use crate::event::Event;
use crate::failure::Failure;
use crate::group::{GEOMETRIES, Group, tasks_of};
use crate::optimization::{call_later, settings, update};
use crate::query::answer;

/// C: `PAMI_Geometry_world`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_world(
    client: abi::Client,
    world_geometry: *mut abi::Geometry,
) -> abi::ResultCode {
    boundary::result(|| {
        let client = CLIENTS.get(client)?;
        if world_geometry.is_null() {
            return Err(Failure::invalid("geometry is null"));
        }
        // SAFETY: the program passes a place for the handle.
        unsafe { world_geometry.write(client.world as abi::Geometry) };
        Ok(())
    })
}

/// C: `PAMI_Geometry_destroy`. The tasks pass a barrier first, so that no task frees resources that others still use.
///
/// # Safety
/// As [`PAMI_Geometry_world`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_destroy(
    client: abi::Client,
    geometry: *mut abi::Geometry,
    context: abi::Context,
    function: abi::EventFunction,
    cookie: *mut c_void,
) -> abi::ResultCode {
    boundary::result(|| {
        let client = CLIENTS.get(client)?;
        let context = CONTEXTS.get(context)?;
        if geometry.is_null() {
            return Err(Failure::invalid("geometry is null"));
        }
        // SAFETY: the program passes a place with a handle.
        let handle = unsafe { geometry.read() };
        let group = GEOMETRIES.get(handle)?;
        if group.client != client.handle || !Arc::ptr_eq(&client, &context.client) {
            let text = "the geometry or the context is of another client";
            return Err(Failure::invalid(text));
        }
        if group.is_world() {
            return Err(Failure::invalid("the world cannot be destroyed"));
        }
        let made = group.made()?;
        GEOMETRIES.remove(handle)?;
        // SAFETY: as above.
        unsafe { geometry.write(std::ptr::null_mut()) };
        // The joint event ends after all parts have begun.
        group.begin();
        let event = Event::new(context.handle, function, cookie);
        let (weak, ending) = (Arc::downgrade(&context), Arc::clone(&group));
        group.when_idle(move || {
            if let Some(context) = weak.upgrade() {
                let ended = end(&context, &ending, event.is_there());
                let _ = call_later(&context, event, ended);
            }
        });
        let begun = made.each(|member| leave(&group, member));
        group.end();
        begun
    })
}

/// Begins to take an endpoint of this task out of a geometry.
fn leave(group: &Arc<Group>, member: &Member<RemotePlatform>) -> Result<(), Failure> {
    let done = || -> Done<_> {
        group.begin();
        let group = Arc::clone(group);
        // Any result: the endpoint is not used afterwards.
        Box::new(move |_, _| group.end())
    };
    let routes = member.routes();
    if routes.class || routes.barrier {
        let released = member.release_routes(Some(done()));
        released.inspect_err(|_| group.end())?;
    }
    let met = member.post(Request::barrier(), Some(done()));
    Ok(met.inspect_err(|_| group.end())?)
}

/// Takes this task out of a geometry; its number becomes free if there is a callback.
fn end(context: &Context, group: &Group, told: bool) -> Result<(), Failure> {
    let made = group.made()?;
    made.leave();
    let client = &context.client;
    if told {
        client.ids.lock().remove(&group.name.id);
    }
    let tasks = tasks_of(&group.endpoints).len() as u32;
    let who = (group.name, group.endpoints[0], tasks);
    let number = made.geometry.number();
    Ok(client.agreement.leave(context.driver(), who, number)?)
}

/// C: `PAMI_Geometry_query`.
///
/// # Safety
/// As [`PAMI_Geometry_world`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_query(
    geometry: abi::Geometry,
    configuration: *mut abi::Configuration,
    num_configs: usize,
) -> abi::ResultCode {
    boundary::result(|| {
        let group = GEOMETRIES.get(geometry)?;
        let mut optimized = false;
        group.made()?.each(|member| {
            let routes = member.routes();
            optimized |= routes.class || routes.barrier;
            Ok(())
        })?;
        let value = |name| {
            (name == AttributeName::GEOMETRY_OPTIMIZE).then(|| AttributeValue {
                intval: usize::from(optimized),
            })
        };
        // SAFETY: the program passes this many attributes.
        unsafe { answer(configuration, num_configs, value) }
    })
}

/// C: `PAMI_Geometry_update`.
///
/// # Safety
/// As [`PAMI_Geometry_world`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_update(
    geometry: abi::Geometry,
    configuration: *mut abi::Configuration,
    num_configs: usize,
    context: abi::Context,
    function: abi::EventFunction,
    cookie: *mut c_void,
) -> abi::ResultCode {
    boundary::result(|| {
        let group = GEOMETRIES.get(geometry)?;
        let context = CONTEXTS.get(context)?;
        if context.client.handle != group.client {
            return Err(Failure::invalid("the context is of another client"));
        }
        group.made()?;
        // SAFETY: the program passes this many settings.
        let optimize = unsafe { settings(configuration, num_configs)? };
        let event = Event::new(context.handle, function, cookie);
        match optimize {
            Some(optimize) => update(&Arc::downgrade(&context), &group, optimize, event),
            None => call_later(&context, event, Ok(())),
        }
    })
}
