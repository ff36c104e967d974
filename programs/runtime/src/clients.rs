// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration files of clients, as a program of tasks is given one on the command line (EP-5).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use gyre_collectives::Algorithms;
use gyre_driver::{ClientConfig, Configuration, GeometryConfig};
use gyre_firmware::Parameters;
use gyre_layout::Coord;
use gyre_layout::registers::group_page::{INJ_COUNT, REC_COUNT, SLOT_COUNT};

use crate::bring_up::OWNER;
use crate::options::{CONFIGURATION_BYTES, UsageError};

/// Resources of a node, as software reads them from the node. FIFOs, slots and groups alone say how
/// many clients there is room for.
const NODE: Parameters = Parameters {
    dimensions: 5,
    flit_bytes: 16,
    injection_fifos: INJ_COUNT as u16,
    reception_fifos: REC_COUNT as u16,
    slots: SLOT_COUNT as u16,
    axi_masters: 1,
    axi_bytes: 64,
    groups: 1,
};

/// Geometries that a file gives, by the name of their client.
pub type Geometries = BTreeMap<String, Vec<GeometryConfig>>;

fn refuse(error: gyre_driver::ConfigError) -> UsageError {
    UsageError::Combination(error.to_string())
}

/// The clients of a program of tasks, from a configuration: those of the application that has the program's name.
#[derive(Debug, Clone)]
pub struct ClientFile {
    configuration: Arc<Configuration>,
    path: String,
    application: &'static str,
    /// Clients that the program is written for; by default one client with all tasks.
    own: Option<Arc<Self>>,
}

impl ClientFile {
    /// Reads the file for the program `application`.
    ///
    /// # Errors
    /// A file that cannot be read or understood.
    pub fn read(path: &Path, application: &'static str) -> Result<Self, UsageError> {
        let path = path.display().to_string();
        let refuse = |reason: String| UsageError::MachineFile {
            path: path.clone(),
            reason,
        };
        let text = gyre_files::keep(Path::new(&path))
            .and_then(|()| gyre_files::read_text(Path::new(&path), CONFIGURATION_BYTES));
        let text = text.map_err(|error| refuse(error.to_string()))?;
        Self::parse(path, &text, application)
    }

    /// The same from the text of a file; `path` names it in errors.
    ///
    /// # Errors
    /// A text that cannot be understood.
    pub fn parse(path: String, text: &str, application: &'static str) -> Result<Self, UsageError> {
        let configuration = Configuration::from_toml(&path, text).map_err(refuse)?;
        Ok(Self {
            configuration: Arc::new(configuration),
            path,
            application,
            own: None,
        })
    }

    /// The same for a program that has been written for the clients of `own`: every process must have clients of the
    /// same names.
    #[must_use]
    pub fn in_place_of(self, own: Self) -> Self {
        Self {
            own: Some(Arc::new(own)),
            ..self
        }
    }

    /// The clients of each process, where process `p` lives on node `nodes[p]`.
    ///
    /// # Errors
    /// Clients that are not as the program needs them, or for which the nodes have no room.
    pub fn of_processes(&self, nodes: &[Coord]) -> Result<Vec<Vec<ClientConfig>>, UsageError> {
        let Self {
            configuration,
            path,
            application,
            ..
        } = self;
        configuration
            .check_room(application, nodes, &NODE)
            .map_err(refuse)?;
        let of_process = |process| {
            let clients = self.clients(nodes, process)?;
            self.check_use(nodes, process, &clients)?;
            let foreign = clients.iter().find(|c| c.resources.owner != OWNER);
            if let Some(client) = foreign {
                return Err(UsageError::Combination(format!(
                    "{path}: client `{}`: owner is {}, expected {OWNER}, that of the memory of all processes",
                    client.name, client.resources.owner
                )));
            }
            Ok(clients)
        };
        (0..nodes.len() as u32).map(of_process).collect()
    }

    /// The geometries of these clients, by the name of the client (EP-5, EP-7).
    ///
    /// # Errors
    /// Lists of algorithms that cannot be.
    pub fn geometries<'a>(
        &self,
        clients: impl IntoIterator<Item = &'a ClientConfig>,
    ) -> Result<Geometries, UsageError> {
        let mut geometries = Geometries::new();
        for ClientConfig { name, .. } in clients {
            if geometries.contains_key(name) {
                continue;
            }
            let of_client = self.configuration.geometries(self.application, name);
            for geometry in of_client {
                Algorithms::from_config(geometry)
                    .map_err(|error| UsageError::Combination(error.to_string()))?;
            }
            geometries.insert(name.clone(), of_client.to_vec());
        }
        Ok(geometries)
    }

    fn clients(&self, nodes: &[Coord], process: u32) -> Result<Vec<ClientConfig>, UsageError> {
        let clients = self.configuration.clients(self.application, nodes, process);
        clients.map_err(refuse)
    }

    /// Refuses clients of a process for which the program has not been written.
    fn check_use(
        &self,
        nodes: &[Coord],
        process: u32,
        clients: &[ClientConfig],
    ) -> Result<(), UsageError> {
        let expected = match &self.own {
            None => match clients {
                [client] if client.tasks.len() == nodes.len() && client.task.0 == process => {
                    return Ok(());
                }
                _ => "one client, with tasks = \"all\"".into(),
            },
            Some(own) => {
                let names = |clients: &[ClientConfig]| -> BTreeSet<String> {
                    clients.iter().map(|client| client.name.clone()).collect()
                };
                let expected = names(&own.clients(nodes, process)?);
                if names(clients) == expected {
                    return Ok(());
                }
                let expected: Vec<_> = expected.iter().map(|name| format!("`{name}`")).collect();
                format!(
                    "process {process} to have the clients {}",
                    expected.join(", ")
                )
            }
        };
        Err(UsageError::Combination(format!(
            "{}: application `{}`: expected {expected}",
            self.path, self.application
        )))
    }
}
