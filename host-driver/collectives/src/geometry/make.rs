// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geometries of the tasks of a client, and from configurations.

use std::ops::Range;

use gyre_driver::{Client, GeometryConfig, GeometryMembers, Platform, TaskId};

use super::Geometry;
use crate::error::Error;
use crate::selection::lists::Algorithms;

impl Geometry {
    /// Contexts `0..contexts` of all tasks of the client.
    ///
    /// # Errors
    /// As [`Geometry::endpoint_list`]; [`Error::Driver`] when the client has fewer contexts.
    pub fn world<P: Platform>(
        client: &Client<P>,
        name: &str,
        number: u16,
        contexts: u8,
    ) -> Result<Self, Error> {
        // A task list is at most 2^32 - 1 long.
        Self::task_range(
            client,
            name,
            number,
            0..client.tasks().len() as u32,
            contexts,
        )
    }

    /// Contexts `0..contexts` of the tasks in a range.
    ///
    /// # Errors
    /// As [`Geometry::world`].
    pub fn task_range<P: Platform>(
        client: &Client<P>,
        name: &str,
        number: u16,
        tasks: Range<u32>,
        contexts: u8,
    ) -> Result<Self, Error> {
        Self::task_list(client, name, number, tasks.map(TaskId), contexts)
    }

    /// Contexts `0..contexts` of the tasks listed, in that order.
    ///
    /// # Errors
    /// As [`Geometry::world`].
    pub fn task_list<P: Platform>(
        client: &Client<P>,
        name: &str,
        number: u16,
        tasks: impl IntoIterator<Item = TaskId>,
        contexts: u8,
    ) -> Result<Self, Error> {
        let mut endpoints = Vec::new();
        for task in tasks {
            for context in 0..contexts {
                endpoints.push(client.endpoint(task, context)?);
            }
        }
        Self::endpoint_list(name, number, endpoints)
    }

    /// The geometry of a configuration file, with its lists of algorithms (EP-5, EP-7, EP-8). Collectives without a
    /// list keep the default list.
    ///
    /// # Errors
    /// [`Error::Configured`].
    pub fn from_config<P: Platform>(
        client: &Client<P>,
        config: &GeometryConfig,
    ) -> Result<Self, Error> {
        let made = Self::configured(client, config);
        made.map_err(|source| source.at(&config.place))
    }

    fn configured<P: Platform>(client: &Client<P>, config: &GeometryConfig) -> Result<Self, Error> {
        let (name, number) = (config.name.as_str(), config.number);
        let geometry = match &config.members {
            GeometryMembers::World { contexts } => Self::world(client, name, number, *contexts),
            GeometryMembers::Range {
                first,
                last,
                contexts,
            } => Self::task_range(
                client,
                name,
                number,
                *first..last.saturating_add(1),
                *contexts,
            ),
            GeometryMembers::Tasks { tasks, contexts } => {
                let tasks = tasks.iter().copied().map(TaskId);
                Self::task_list(client, name, number, tasks, *contexts)
            }
            GeometryMembers::Endpoints(list) => {
                let list = list.iter().map(|&(t, c)| client.endpoint(TaskId(t), c));
                Self::endpoint_list(name, number, list.collect::<Result<Vec<_>, _>>()?)
            }
        }?;
        let algorithms = Algorithms::from_config(config)?;
        geometry.with_algorithms(algorithms).on_network(client)
    }
}
