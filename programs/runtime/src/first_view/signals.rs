// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals of the RTL in the order in which a message passes them, and those of a node that tell what it is at.

use std::collections::{BTreeMap, BTreeSet};

use gyre_timeline::Role;
use gyre_wave::{Declared, Line, Radix, Signal};

use super::follow::{Flight, Followed, Hop};

/// Most nodes whose state a view shows.
const MAX_NODES: usize = 4;
/// Most links of a packet's way.
const MAX_LINKS: usize = 16;

/// A signal that a view shows if the waveform has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    /// Names without range: the first one present in the waveform counts.
    names: Vec<String>,
    label: String,
    radix: Radix,
    /// The only one of its bits that is shown.
    bit: Option<u32>,
}

/// Signals of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    title: String,
    signals: Vec<Wanted>,
}

impl Group {
    fn new(title: String) -> Self {
        Self {
            title,
            signals: Vec::new(),
        }
    }

    fn add(&mut self, label: &str, radix: Radix, bit: Option<u32>, names: &[String]) {
        self.signals.push(Wanted {
            names: names.to_vec(),
            label: label.to_owned(),
            radix,
            bit,
        });
    }

    fn level(&mut self, label: &str, name: String) {
        self.add(label, Radix::Binary, None, &[name]);
    }

    fn bit(&mut self, label: &str, bit: u32, names: &[String]) {
        self.add(&format!("{label}[{bit}]"), Radix::Binary, Some(bit), names);
    }

    fn number(&mut self, label: &str, name: String) {
        self.add(label, Radix::Hexadecimal, None, &[name]);
    }
}

/// The groups of a view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Groups(Vec<Group>);

impl Groups {
    /// Signals of the followed message, in a machine of `dims` dimensions. `nodes` are those whose state stands below.
    pub(super) fn of(
        followed: Option<&Followed>,
        nodes: impl IntoIterator<Item = usize>,
        dims: usize,
    ) -> Self {
        let mut groups = Vec::new();
        if let Some(followed) = followed {
            let several = followed.flights.len() > 1;
            for flight in &followed.flights {
                let of_flight = match flight.role {
                    Some(role) if several => format!("{}: ", role.name()),
                    _ => String::new(),
                };
                way(&mut groups, flight, &of_flight, dims);
            }
        }
        let nodes = nodes.into_iter().take(MAX_NODES);
        groups.extend(nodes.map(|node| match followed {
            Some(_) => state(node),
            None => activity(node),
        }));
        Self(groups)
    }

    /// The names that are looked for.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let wanted = self.0.iter().flat_map(|group| &group.signals);
        wanted.flat_map(|wanted| wanted.names.clone()).collect()
    }

    /// The rows, of the signals that there are. Each signal stands where it is first of use.
    pub(super) fn lines(&self, declared: &BTreeMap<String, Declared>) -> Vec<Line> {
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        for group in &self.0 {
            let signals = group.signals.iter();
            let rows: Vec<Line> = signals
                .filter_map(|wanted| {
                    let signal = wanted.signal(declared)?;
                    seen.insert((signal.name.clone(), signal.bit))
                        .then_some(Line::Signal(signal))
                })
                .collect();
            if !rows.is_empty() {
                lines.push(Line::Title(group.title.clone()));
                lines.extend(rows);
            }
        }
        lines
    }
}

impl Wanted {
    fn signal(&self, declared: &BTreeMap<String, Declared>) -> Option<Signal> {
        let has_bit = |found: &&Declared| self.bit.is_none_or(|bit| bit < found.width);
        let mut names = self.names.iter();
        let (name, found) =
            names.find_map(|name| Some((name, declared.get(name).filter(has_bit)?)))?;
        let bit = self.bit.filter(|_| found.width > 1);
        // The highest stands at the left.
        let bit = bit.map(|bit| found.width - 1 - bit);
        Some(Signal {
            name: format!("{name}{}", found.range),
            label: self.label.clone(),
            radix: self.radix,
            bit,
            bright: false,
        })
    }
}

/// The way of a message's packets, from the node that has their descriptor to memory at the other.
fn way(groups: &mut Vec<Group>, flight: &Flight, of_flight: &str, dims: usize) {
    let Flight { from, .. } = *flight;
    // A model has three dimensions or five; the paths of a node's links are followed by that to itself.
    let links = if dims <= 3 { 6 } else { 10 };
    let (masters, first) = (if dims <= 3 { 2 } else { 4 }, flight.hops.first());
    let torus = |hop: &Hop| u32::from(hop.port) < links;
    if first.is_some_and(|hop| !torus(hop)) {
        return links_of(groups, flight, of_flight, links);
    }
    // Packets that have not left the node take a path that is not known yet.
    let (path, name) = match first {
        Some(hop) => (Some(u32::from(hop.port)), hop.name.as_str()),
        None if flight.from == flight.to => (Some(links), "to itself"),
        None => (None, "any path"),
    };
    let title = |node: u32, what: &str| format!("{of_flight}node {node}: {what}");
    let (node, tx) = (
        format!("node{from}"),
        format!("node{from}.gyre_node.u_dma.u_tx"),
    );

    // Of data that is asked for, the request brings the descriptor.
    if flight.role.is_some_and(|role| role != Role::GetData) {
        let mut doorbell = Group::new(title(from, "doorbell (TAIL)"));
        doorbell.bit("s_aw_valid_i", 0, &[format!("{node}.s_aw_valid_i")]);
        doorbell.number("s_aw_addr_i[0]", format!("{node}.s_aw_addr_i[0]"));
        doorbell.number("s_w_data_i[0]", format!("{node}.s_w_data_i[0]"));
        groups.push(doorbell);
    }
    let mut fetch = Group::new(title(from, "descriptor fetch"));
    fetch.level("u_fetch ar_valid_o", format!("{tx}.u_fetch.ar_valid_o"));
    fetch.number("u_fetch ar_addr_o", format!("{tx}.u_fetch.ar_addr_o"));
    fetch.number(
        "u_fetch desc_q msg_id",
        format!("{tx}.u_fetch.desc_q.msg_id"),
    );
    fetch.level("u_activate load_o", format!("{tx}.u_activate.load_o"));
    groups.push(fetch);

    let mut inject = Group::new(title(from, &format!("injection, {name}")));
    let packetizer = format!("{tx}.u_packetizer");
    // Those to the node itself do not leave the DMA engine; a model of routers alone has ports there.
    let inside = |signal: &str, rest: &str| {
        [
            format!("{node}.gyre_node.{signal}{rest}"),
            format!("{node}.gyre_node.u_dma.{signal}{rest}"),
            format!("{node}.{signal}_i{rest}"),
        ]
    };
    if let Some(path) = path {
        inject.bit(
            "u_packetizer cmd_valid_o",
            path,
            &[format!("{packetizer}.cmd_valid_o")],
        );
        let of_path = format!("{tx}.gen_path[{path}].u_path");
        inject.level("u_path ar_valid_o", format!("{of_path}.ar_valid_o"));
        inject.level("u_path r_valid_i", format!("{of_path}.r_valid_i"));
        inject.bit("inj_valid", path, &inside("inj_valid", ""));
        let label = format!("inj_ctl[{path}] dbg");
        let names = inside("inj_ctl", &format!("[{path}].dbg"));
        inject.add(&label, Radix::Hexadecimal, None, &names);
    } else {
        let name = "u_packetizer cmd_valid_o";
        inject.number(name, format!("{packetizer}.cmd_valid_o"));
        inject.number("u_packetizer cmd_q dbg", format!("{packetizer}.cmd_q.dbg"));
        let names = inside("inj_valid", "");
        inject.add("inj_valid", Radix::Hexadecimal, None, &names);
    }
    groups.push(inject);

    links_of(groups, flight, of_flight, links);
    arrival(groups, flight, of_flight, (links, masters));
}

/// The links of a way. Of one between nodes, both ends; a waveform may have one of them.
fn links_of(groups: &mut Vec<Group>, flight: &Flight, of_flight: &str, torus: u32) {
    for hop in flight.hops.iter().take(MAX_LINKS) {
        let mut group = Group::new(format!(
            "{of_flight}link {}, node {} to {}",
            hop.name, hop.node, hop.to
        ));
        let port = u32::from(hop.port);
        let (kind, out) = match port.checked_sub(torus) {
            None => ("link", port),
            Some(tree) => ("tree", tree),
        };
        let sender = format!("node{}.{kind}", hop.node);
        for field in ["valid", "head", "tail", "vc"] {
            let label = format!("{kind}_ctl_o[{out}] {field}");
            let name = format!("{sender}_ctl_o[{out}].{field}");
            match field {
                "vc" => group.number(&label, name),
                _ => group.level(&label, name),
            }
        }
        group.number(
            &format!("{kind}_dbg_o[{out}]"),
            format!("{sender}_dbg_o[{out}]"),
        );
        if kind == "link" {
            // The port at the other end leads back.
            let into = port ^ 1;
            let receiver = format!("node{}.link", hop.to);
            group.level(
                &format!("link_ctl_i[{into}] valid"),
                format!("{receiver}_ctl_i[{into}].valid"),
            );
        }
        groups.push(group);
    }
}

/// From the target's router to its memory and its processors.
fn arrival(
    groups: &mut Vec<Group>,
    flight: &Flight,
    of_flight: &str,
    (links, masters): (u32, u32),
) {
    let to = flight.to;
    let node = format!("node{to}");
    let title = |what: &str| format!("{of_flight}node {to}: {what}");
    // By the last link on its way to there; packets may come by several.
    let last = flight.hops.iter().rfind(|hop| hop.to == to);
    let puts = matches!(flight.role, Some(Role::Put | Role::GetData));
    let (port, class) = match last {
        Some(hop) => (u32::from(hop.port) ^ 1, class_of(hop.channel)),
        None if flight.from == to => (links, u32::from(puts)),
        // It has not come there.
        None => return,
    };
    let rx = format!("{node}.gyre_node.u_dma.u_rx");
    let inside = |signal: &str, rest: &str| {
        [
            format!("{node}.gyre_node.{signal}{rest}"),
            format!("{node}.gyre_node.u_dma.{signal}{rest}"),
            format!("{node}.{signal}_o{rest}"),
        ]
    };
    let mut ejection = Group::new(title("ejection, reception"));
    let label = format!("ej_valid[{port}]");
    ejection.bit(&label, class, &inside("ej_valid", &format!("[{port}]")));
    if port == links {
        let name = format!("{node}.gyre_node.u_dma.loop_ctl[{class}].dbg");
        ejection.number(&format!("loop_ctl[{class}] dbg"), name);
    } else {
        let label = format!("ej_ctl[{port}][{class}] dbg");
        let names = inside("ej_ctl", &format!("[{port}][{class}].dbg"));
        ejection.add(&label, Radix::Hexadecimal, None, &names);
    }
    // Those of classes priority and system have one path each, whatever they came by.
    let (path, part) = match class {
        0 | 1 => (port, class),
        _ => (links + class, 0),
    };
    let header = format!("{rx}.gen_path[{path}].u_path.gen_class[{part}].u_header");
    ejection.level("u_header hdr_valid_o", format!("{header}.hdr_valid_o"));
    groups.push(ejection);

    let master = path % masters;
    let mut memory = Group::new(title("memory write"));
    memory.bit("m_aw_valid_o", master, &[format!("{node}.m_aw_valid_o")]);
    memory.number(
        &format!("m_aw_addr_o[{master}]"),
        format!("{node}.m_aw_addr_o[{master}]"),
    );
    memory.bit("m_w_valid_o", master, &[format!("{node}.m_w_valid_o")]);
    memory.number(
        "u_mux w_dbg_q",
        format!("{rx}.gen_master[{master}].u_mux.w_dbg_q"),
    );
    memory.bit("m_b_valid_i", master, &[format!("{node}.m_b_valid_i")]);
    groups.push(memory);

    let mut wake_up = Group::new(title("wake-up, register read"));
    wake_up.number("wake_o", format!("{node}.wake_o"));
    wake_up.bit("s_ar_valid_i", 0, &[format!("{node}.s_ar_valid_i")]);
    wake_up.number("s_ar_addr_i[0]", format!("{node}.s_ar_addr_i[0]"));
    groups.push(wake_up);
}

/// The class of traffic that a virtual channel carries: `vc_class` of the RTL.
fn class_of(channel: u8) -> u32 {
    let dynamic = channel & 8 != 0;
    u32::from(match dynamic {
        true => channel >> 2 & 1,
        false => channel >> 1 & 3,
    })
}

/// Errors of a node, and whether it is at rest.
fn state(node: usize) -> Group {
    let mut group = Group::new(format!("node {node}: errors, rest"));
    for part in ["dma", "net", "coll"] {
        let label = format!("{part}_err valid");
        group.level(&label, format!("node{node}.gyre_node.{part}_err.valid"));
    }
    group.level("irq_o", format!("node{node}.irq_o"));
    group.level("idle_o", format!("node{node}.idle_o"));
    group
}

/// State signals of a node, for a view without a message.
fn activity(node: usize) -> Group {
    let mut group = Group::new(format!("node {node}: activity, errors, rest"));
    let (ports, inner) = (format!("node{node}"), format!("node{node}.gyre_node"));
    group.bit("s_aw_valid_i", 0, &[format!("{ports}.s_aw_valid_i")]);
    group.bit("s_ar_valid_i", 0, &[format!("{ports}.s_ar_valid_i")]);
    group.number("m_ar_valid_o", format!("{ports}.m_ar_valid_o"));
    group.number("m_w_valid_o", format!("{ports}.m_w_valid_o"));
    let inj = [format!("{inner}.inj_valid"), format!("{ports}.inj_valid_i")];
    group.add("inj_valid", Radix::Hexadecimal, None, &inj);
    for port in 0..10 {
        group.level(
            &format!("link_ctl_o[{port}] valid"),
            format!("{ports}.link_ctl_o[{port}].valid"),
        );
    }
    for port in 0..3 {
        group.level(
            &format!("tree_ctl_o[{port}] valid"),
            format!("{ports}.tree_ctl_o[{port}].valid"),
        );
    }
    group.number("wake_o", format!("{ports}.wake_o"));
    let state = state(node);
    group.signals.extend(state.signals);
    group
}
