// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes through a machine, made of the decisions of single routers, and their checks.

use gyre_layout::MAX_DIM;

use crate::{Port, Unit};

/// Code of a decision: eject here.
pub const LOCAL_PORT: u8 = 15;
/// Code of a decision: no route.
pub const NO_PORT: u8 = 14;

/// Coordinates of a node.
pub type Place = [u8; MAX_DIM];

/// A machine's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes in each dimension, 1 for absent ones.
    pub size: [u8; MAX_DIM],
    /// The dimension has its wrap link.
    pub ring: [bool; MAX_DIM],
    /// Dimensions as fixed routes take them.
    pub order: [u8; MAX_DIM],
}

impl Shape {
    /// A shape of the given dimensions; absent ones have one node.
    pub fn new(dims: &[(u8, bool)]) -> Self {
        let mut shape = Self {
            size: [1; MAX_DIM],
            ring: [false; MAX_DIM],
            order: [0, 1, 2, 3, 4],
        };
        for (d, &(size, ring)) in dims.iter().enumerate() {
            shape.size[d] = size;
            shape.ring[d] = ring;
        }
        shape
    }

    /// The same shape with another order of dimensions.
    #[must_use]
    pub fn with_order(self, order: [u8; MAX_DIM]) -> Self {
        Self { order, ..self }
    }

    /// Ports on shortest ways from one place to another.
    pub fn minimal_ports(&self, from: &Place, to: &Place) -> Vec<u8> {
        let nearer = |port: &u8| {
            self.neighbour(from, *port)
                .is_some_and(|next| self.distance(&next, to) < self.distance(from, to))
        };
        (0..2 * MAX_DIM as u8).filter(nearer).collect()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.size.iter().map(|&size| usize::from(size)).product()
    }

    /// All places, dimension 0 fastest.
    pub fn places(&self) -> Vec<Place> {
        (0..self.nodes())
            .map(|mut index| {
                std::array::from_fn(|d| {
                    let size = usize::from(self.size[d]);
                    let c = index % size;
                    index /= size;
                    c as u8
                })
            })
            .collect()
    }

    /// Number of a place in the order of [`Shape::places`].
    pub fn index(&self, place: &Place) -> usize {
        (0..MAX_DIM).rev().fold(0, |index, d| {
            index * usize::from(self.size[d]) + usize::from(place[d])
        })
    }

    /// Where the link `port` of `place` leads, if it exists.
    pub fn neighbour(&self, place: &Place, port: u8) -> Option<Place> {
        let d = usize::from(port / 2);
        let (size, c) = (*self.size.get(d)?, place[d]);
        let plus = port.is_multiple_of(2);
        let at_end = if plus { c + 1 == size } else { c == 0 };
        if at_end && !self.ring[d] || size == 1 {
            return None;
        }
        let mut next = *place;
        next[d] = match (plus, at_end) {
            (true, true) => 0,
            (true, false) => c + 1,
            (false, true) => size - 1,
            (false, false) => c - 1,
        };
        Some(next)
    }

    /// Fewest hops between two places.
    pub fn distance(&self, from: &Place, to: &Place) -> usize {
        (0..MAX_DIM)
            .map(|d| {
                let straight = usize::from(from[d].abs_diff(to[d]));
                if self.ring[d] {
                    straight.min(usize::from(self.size[d]) - straight)
                } else {
                    straight
                }
            })
            .sum()
    }
}

/// Settings of a node besides its place in the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeSettings {
    /// Ports whose links are enabled, a bit each.
    pub links: u64,
    /// The DMA engine is enabled.
    pub dma: bool,
    /// It starts nothing new.
    pub drain: bool,
}

impl Shape {
    /// The value of `node_cfg_t` for the node at `place`.
    pub fn node_cfg(&self, place: &Place, settings: NodeSettings) -> u128 {
        // From bit 0: drain, dma_enable, link_enable[10], ring[5], size[35], coord[30], dim_order[15].
        u128::from(settings.drain)
            | u128::from(settings.dma) << 1
            | u128::from(settings.links) << 2
            | u128::from(pack(&self.ring.map(u8::from), 1)) << 12
            | u128::from(pack(&self.size, 7)) << 17
            | u128::from(pack(place, 6)) << 52
            | u128::from(pack(&self.order, 3)) << 82
    }
}

/// The fixed route as the specification says it, from the pair alone: dimension by dimension, the short way
/// round, ties + from even and - from odd source coordinates; in a ring of two the reverse, if the distance in the
/// other dimensions is odd.
pub fn reference_route(shape: &Shape, src: &Place, dst: &Place) -> Vec<u8> {
    let mut ports = Vec::new();
    for d in shape.order.map(usize::from) {
        let (size, s, t) = (
            i32::from(shape.size[d]),
            i32::from(src[d]),
            i32::from(dst[d]),
        );
        let steps = if shape.ring[d] {
            let up = (t - s).rem_euclid(size);
            let others = (0..MAX_DIM).filter(|&k| k != d);
            let distance: u8 = others.map(|k| src[k].abs_diff(dst[k])).sum();
            let turned = size == 2 && distance % 2 == 1;
            match (2 * up).cmp(&size) {
                std::cmp::Ordering::Less => up,
                std::cmp::Ordering::Greater => up - size,
                std::cmp::Ordering::Equal if (s % 2 == 0) != turned => up,
                std::cmp::Ordering::Equal => -up,
            }
        } else {
            t - s
        };
        let port = 2 * d as u8 + u8::from(steps < 0);
        ports.extend(std::iter::repeat_n(port, steps.unsigned_abs() as usize));
    }
    ports
}

/// Decision of a router for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Output port, [`LOCAL_PORT`] or [`NO_PORT`].
    pub port: u8,
    /// Dateline virtual channel on it.
    pub dateline: bool,
}

/// The packet that a decision is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Where the router is.
    pub here: Place,
    /// Source.
    pub src: Place,
    /// Destination.
    pub dst: Place,
    /// Port by which it came, [`LOCAL_PORT`] when injected here.
    pub in_port: u8,
    /// Virtual channel on which it came.
    pub in_vc: u8,
}

/// The routing functions of `gyre_pkg`, Verilated.
pub struct RtlRouter {
    unit: Unit,
    coord: Port,
    size: Port,
    ring: Port,
    order: Port,
    head: Port,
    in_port: Port,
    in_vc: Port,
    minimal: Port,
    port: Port,
    dateline: Port,
}

impl Default for RtlRouter {
    fn default() -> Self {
        let unit = Unit::new("route_probe", 1);
        Self {
            coord: unit.port("coord_i"),
            size: unit.port("size_i"),
            ring: unit.port("ring_i"),
            order: unit.port("dim_order_i"),
            head: unit.port("head_i"),
            in_port: unit.port("in_port_i"),
            in_vc: unit.port("in_vc_i"),
            minimal: unit.port("minimal_o"),
            port: unit.port("port_o"),
            dateline: unit.port("dateline_o"),
            unit,
        }
    }
}

/// `values` packed in `width` bits each, the first lowest.
pub(crate) fn pack(values: &[u8], width: u32) -> u64 {
    values
        .iter()
        .rev()
        .fold(0, |packed, &value| packed << width | u64::from(value))
}

impl RtlRouter {
    /// Decides where a packet on its fixed route goes.
    pub fn decide(&mut self, shape: &Shape, arrival: &Arrival) -> Decision {
        self.ask(shape, arrival, 0);
        let unit = &self.unit;
        Decision {
            port: unit.get(self.port, 0) as u8,
            dateline: unit.get(self.dateline, 0) != 0,
        }
    }

    /// Ports that a dynamic request without wishes may leave by.
    pub fn minimal_ports(&mut self, shape: &Shape, here: &Place, dst: &Place) -> Vec<u8> {
        let arrival = Arrival {
            here: *here,
            src: *here,
            dst: *dst,
            in_port: LOCAL_PORT,
            in_vc: 0,
        };
        self.ask(shape, &arrival, 1 << 63);
        let ports = self.unit.get(self.minimal, 0);
        (0..2 * MAX_DIM as u8)
            .filter(|port| ports >> port & 1 != 0)
            .collect()
    }

    /// Sets the inputs for a packet, with these further bits of its header's first words.
    fn ask(&mut self, shape: &Shape, arrival: &Arrival, bits: u64) {
        let head = pack(&arrival.dst, 6) | pack(&arrival.src, 6) << 32 | bits;
        let unit = &mut self.unit;
        unit.set(self.coord, 0, pack(&arrival.here, 6));
        unit.set(self.size, 0, pack(&shape.size, 7));
        unit.set(self.ring, 0, pack(&shape.ring.map(u8::from), 1));
        unit.set(self.order, 0, pack(&shape.order, 3));
        unit.set(self.head, 0, head);
        unit.set(self.in_port, 0, arrival.in_port.into());
        unit.set(self.in_vc, 0, arrival.in_vc.into());
        unit.eval().expect("the probe has no assertion");
    }
}

/// A virtual channel of a link: sending node, port, dateline.
pub type Channel = (usize, u8, bool);

/// The channels a packet takes from `src` to `dst`.
///
/// # Errors
/// What went wrong, in words, when the route does not arrive.
pub fn follow(
    router: &mut RtlRouter,
    shape: &Shape,
    src: &Place,
    dst: &Place,
) -> Result<Vec<Channel>, String> {
    let mut path = Vec::new();
    let mut arrival = Arrival {
        here: *src,
        src: *src,
        dst: *dst,
        in_port: LOCAL_PORT,
        in_vc: 0,
    };
    loop {
        let Decision { port, dateline } = router.decide(shape, &arrival);
        if port == LOCAL_PORT {
            return if arrival.here == *dst {
                Ok(path)
            } else {
                Err(format!("ejected at {:?}, not at {dst:?}", arrival.here))
            };
        }
        let next = shape
            .neighbour(&arrival.here, port)
            .ok_or_else(|| format!("{:?} -> {dst:?}: no link {port}", arrival.here))?;
        path.push((shape.index(&arrival.here), port, dateline));
        if path.len() > shape.nodes() {
            return Err(format!("{src:?} -> {dst:?}: walks in circles: {path:?}"));
        }
        arrival = Arrival {
            here: next,
            src: *src,
            dst: *dst,
            in_port: port ^ 1,
            in_vc: dateline.into(),
        };
    }
}
