//! Collectives whose root task has several endpoints that work in parallel (EP-10, EP-11, EP-12). With one
//! endpoint these are the linear algorithms.

use super::{Action, Builder, SHARE, Slice, Space};

impl Builder<'_> {
    /// EP-10: the root task's endpoints each take a part of all endpoints and send them all the data. Of
    /// the endpoints of a task the leader stores it, the others discard their copies.
    pub(super) fn endpoint_parallel_broadcast(&mut self) {
        let data = self.output(0);
        let senders = self.geometry.ranks_of(self.root);
        let parts = self.geometry.parts(self.root);
        if self.me == self.root {
            for &to in &parts[self.endpoint()] {
                let action = Action::Send {
                    to,
                    tag: 0,
                    from: data,
                };
                self.add(action, &[]);
            }
            return self.meet();
        }
        let sender = parts.iter().position(|part| part.contains(&self.rank));
        let from = senders[sender.unwrap_or(0)];
        let action = match self.is_leader() {
            true => Action::Receive {
                from,
                tag: 0,
                into: data,
            },
            false => Action::Discard { from, tag: 0 },
        };
        self.add(action, &[]);
        self.tell_endpoints();
    }

    /// EP-11: the root task's endpoints each take the blocks of a part of the tasks; one endpoint a task
    /// receives.
    pub(super) fn endpoint_parallel_scatter(&mut self) {
        let senders = self.geometry.ranks_of(self.root);
        let parts = self.geometry.parts(self.root);
        if self.me == self.root {
            for &to in &parts[self.endpoint()] {
                let position = self.geometry.position(to);
                if self.leader(position) == to {
                    let from = Slice::new(Space::Send, self.arguments.send_blocks.block(position));
                    self.add(Action::Send { to, tag: 0, from }, &[]);
                }
            }
            if self.is_leader() && !self.arguments.keeps_block {
                self.copy(self.input(self.me), self.received(), &[]);
            }
            return self.meet();
        }
        if self.is_leader() {
            let sender = parts.iter().position(|part| part.contains(&self.rank));
            let action = Action::Receive {
                from: senders[sender.unwrap_or(0)],
                tag: 0,
                into: self.received(),
            };
            self.add(action, &[]);
        }
        self.tell_endpoints();
    }

    /// EP-12: the leader of each task sends; the range of positions that its own falls into says which of the
    /// root task's endpoints receives.
    pub(super) fn endpoint_parallel_gather(&mut self) {
        let receivers = self.geometry.ranks_of(self.root);
        let tasks = self.tasks;
        let receiver = |position: usize| position * receivers.len() / tasks;
        if self.me == self.root {
            let mine = self.endpoint();
            let me = self.me;
            for position in (0..tasks).filter(|&p| receiver(p) == mine && p != me) {
                let into = self.output(position);
                self.receive(position, 0, into, &[]);
            }
            if self.is_leader() && !self.arguments.in_place {
                self.copy(self.input(0), self.output(self.me), &[]);
            }
            return self.meet();
        }
        if self.is_leader() {
            let action = Action::Send {
                to: receivers[receiver(self.me)],
                tag: 0,
                from: self.input(0),
            };
            self.add(action, &[]);
        }
        self.tell_endpoints();
    }

    /// Number of this endpoint among those of its task.
    fn endpoint(&self) -> usize {
        let ranks = self.geometry.ranks_of(self.me);
        ranks.iter().take_while(|&&rank| rank != self.rank).count()
    }

    /// No endpoint of the task ends before all have done their share: the buffers are the same.
    fn meet(&mut self) {
        let ranks = self.geometry.ranks_of(self.me);
        let nothing = Slice::nothing();
        if self.is_leader() {
            for &from in &ranks[1..] {
                let action = Action::Receive {
                    from,
                    tag: SHARE,
                    into: nothing,
                };
                self.add(action, &[]);
            }
        } else {
            let action = Action::Send {
                to: ranks[0],
                tag: SHARE,
                from: nothing,
            };
            let all = self.all();
            self.add(action, &all);
        }
        self.tell_endpoints();
    }
}
