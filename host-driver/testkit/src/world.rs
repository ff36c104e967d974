// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks on the double: their places, clients and contexts.

use std::sync::Arc;

use gyre_driver::{
    AckConfig, BufferRange, Client, ClientConfig, Context, DEFAULT_EAGER_LIMIT, DmaBuffer, Error,
    Ordered, Resources, SameNode, TaskId, TaskMap, WakeReason, advancev,
};

use crate::double::Double;
use crate::process::Process;

/// Configuration of client `test`, number 1, with one context.
#[must_use]
pub fn config(tasks: &Arc<TaskMap>, task: u32, resources: Resources) -> ClientConfig {
    ClientConfig {
        name: "test".to_owned(),
        id: 1,
        tasks: Arc::clone(tasks),
        task: TaskId(task),
        contexts: 1,
        resources,
        eager_limit: DEFAULT_EAGER_LIMIT,
        ack: AckConfig::default(),
        same_node: SameNode::default(),
        ordered: Ordered::default(),
    }
}

/// Resources with rings of 4 KiB.
#[must_use]
pub fn small() -> Resources {
    Resources {
        injection_ring: 4096,
        remote_get_ring: 4096,
        reception_ring: 4096,
        ..Resources::default()
    }
}

/// The bytes of a range.
///
/// # Panics
/// When the buffer is shorter than its range.
#[must_use]
pub fn contents<B: DmaBuffer>(range: &BufferRange<B>) -> Vec<u8> {
    let mut bytes = vec![0; range.len()];
    range.read(0, &mut bytes).expect("inside");
    bytes
}

impl Double {
    /// Task `t` on node `nodes[t]`.
    ///
    /// # Panics
    /// When there are more tasks than a machine has.
    #[must_use]
    pub fn tasks(&self, nodes: &[usize]) -> Arc<TaskMap> {
        let state = self.state();
        let coords = nodes.iter().map(|&n| state.nodes[n].coord);
        Arc::new(TaskMap::new(coords).expect("few tasks"))
    }

    /// A client `test` in every task, with a changed configuration; task `t` on node `nodes[t]`.
    ///
    /// # Panics
    /// When the nodes lack the resources.
    pub fn clients(
        &self,
        nodes: &[usize],
        resources: Resources,
        change: impl Fn(ClientConfig) -> ClientConfig,
    ) -> Vec<Client<Process>> {
        let tasks = self.tasks(nodes);
        let create = |(task, &node): (u32, &usize)| {
            let config = change(config(&tasks, task, resources));
            Client::create(&self.process(node), config).expect("the double has the resources")
        };
        (0..).zip(nodes).map(create).collect()
    }

    /// One context of a client `test` in every task; task `t` on node `nodes[t]`.
    ///
    /// # Panics
    /// When the nodes lack the resources.
    pub fn contexts(&self, nodes: &[usize], resources: Resources) -> Vec<Context<Process>> {
        let clients = self.clients(nodes, resources, |config| config);
        let contexts = clients.iter().map(|client| client.create_context(0));
        contexts.map(|context| context.expect("free")).collect()
    }

    /// Advances contexts until nothing has happened in `looks` steps of the machine in a row. Returns the errors of
    /// `advance`.
    pub fn run_until_idle(&self, contexts: &[Context<Process>], looks: usize) -> Vec<Error> {
        let (mut errors, mut idle) = (Vec::new(), 0);
        while idle < looks {
            let moved = self.step();
            match advancev(contexts, 1) {
                Ok(progress) if !moved && progress.is_idle() => idle += 1,
                Ok(_) => idle = 0,
                Err(error) => {
                    errors.push(error);
                    idle = 0;
                }
            }
        }
        errors
    }

    /// Advances each context after a wake-up alone, in turn, until all sleep and nothing moves: a wake-up that is lost
    /// leaves something undone.
    ///
    /// # Panics
    /// When a context is destroyed, or `advance` has an error.
    pub fn run_by_wake_ups(&self, contexts: &[Context<Process>]) {
        loop {
            let mut asleep = 0;
            for context in contexts {
                if context.wait(Some(1)).expect("not destroyed") == WakeReason::Wake {
                    context.advance(1).expect("no error");
                } else {
                    asleep += 1;
                }
            }
            if asleep == contexts.len() && !self.step() {
                return;
            }
        }
    }
}
