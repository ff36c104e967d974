//! Configuration files of clients, as a program of tasks is given one on the command line (EP-5).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use gyre_collectives::Algorithms;
use gyre_driver::{ClientConfig, Configuration, GeometryConfig};
use gyre_firmware::Parameters;
use gyre_layout::Coord;
use gyre_layout::registers::group_page::{INJ_COUNT, REC_COUNT, SLOT_COUNT};

use crate::bring_up::OWNER;
use crate::options::UsageError;

/// What a node of the machine has, as software reads it from the node. FIFOs, slots and groups alone say how
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

/// The client of a program of tasks, from a configuration file: the only one of the application that has the
/// program's name.
#[derive(Debug, Clone)]
pub struct ClientFile {
    configuration: Arc<Configuration>,
    path: String,
    application: &'static str,
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
        let text = fs::read_to_string(&path).map_err(|error| refuse(error.to_string()))?;
        let configuration = Configuration::from_toml(&path, &text)
            .map_err(|error| UsageError::Combination(error.to_string()))?;
        Ok(Self {
            configuration: Arc::new(configuration),
            path,
            application,
        })
    }

    /// The client of each task, where task `t` lives on node `nodes[t]`, and the geometries of that client.
    ///
    /// # Errors
    /// Clients that are not as the program needs them, or for which the nodes have no room; geometries with members
    /// that there are not, and lists of algorithms that cannot be.
    pub fn of_tasks(
        &self,
        nodes: &[Coord],
    ) -> Result<(Vec<ClientConfig>, Vec<GeometryConfig>), UsageError> {
        let Self {
            configuration,
            path,
            application,
        } = self;
        let words = |error: gyre_driver::ConfigError| UsageError::Combination(error.to_string());
        configuration
            .check_room(application, nodes, &NODE)
            .map_err(words)?;
        let mut clients = Vec::new();
        for process in 0..nodes.len() as u32 {
            let mut own = configuration
                .clients(application, nodes, process)
                .map_err(words)?;
            let only = own.pop().filter(|client| {
                own.is_empty() && client.tasks.len() == nodes.len() && client.task.0 == process
            });
            let Some(client) = only else {
                return Err(UsageError::Combination(format!(
                    "{path}: application `{application}`: expected one client, with tasks = \"all\""
                )));
            };
            if client.resources.owner != OWNER {
                return Err(UsageError::Combination(format!(
                    "{path}: client `{}`: owner is {}, expected {OWNER}, that of the memory of all processes",
                    client.name, client.resources.owner
                )));
            }
            clients.push(client);
        }
        let name = clients.first().map_or("", |client| client.name.as_str());
        let geometries = configuration.geometries(application, name).to_vec();
        for geometry in &geometries {
            Algorithms::from_config(geometry)
                .map_err(|error| UsageError::Combination(error.to_string()))?;
        }
        Ok((clients, geometries))
    }
}
