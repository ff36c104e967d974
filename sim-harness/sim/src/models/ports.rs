// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ports that the C++ around a model drives and reads. RTL with others is refused before it is compiled.

use gyre_verilate::Port;

/// Bits of a flit's data.
const FLIT: usize = 128;
/// Bits of a beat of memory.
const BEAT: usize = 512;
const CLASSES: usize = 4;
const TREE_PORTS: usize = 3;

/// AXI4-Lite slaves.
const SLAVES: usize = 2;

fn port(name: &str, bits: usize, elements: usize) -> Port {
    Port {
        name: name.to_owned(),
        input: name.ends_with("_i") || name.ends_with("_ni"),
        bits,
        elements,
    }
}

/// Links called `<prefix>_*`.
fn links(prefix: &str, count: usize) -> Vec<Port> {
    ["i", "o"]
        .iter()
        .flat_map(|side| {
            [("ctl", 32), ("data", FLIT), ("dbg", 32)].map(|(what, bits)| (side, what, bits))
        })
        .map(|(side, what, bits)| port(&format!("{prefix}_{what}_{side}"), bits, count))
        .collect()
}

/// Ports of `gyre_node` with `dims` dimensions and so many AXI masters.
pub(super) fn node(dims: usize, masters: usize) -> Vec<Port> {
    let units = 10 * dims + 10;
    let mut ports = vec![
        port("unit_clk_i", units, 1),
        port("unit_active_o", units, 1),
        port("rst_ni", 1, 1),
        port("time_i", 64, 1),
        port("bar_i", 16, TREE_PORTS),
        port("bar_o", 16, TREE_PORTS),
        port("irq_o", 1, 1),
        port("wake_o", 16, 1),
        port("idle_o", 1, 1),
    ];
    ports.extend(links("link", 2 * dims));
    ports.extend(links("tree", TREE_PORTS));
    for name in [
        "ar_valid_o",
        "ar_ready_i",
        "r_valid_i",
        "r_ready_o",
        "r_last_i",
        "aw_valid_o",
        "aw_ready_i",
        "w_valid_o",
        "w_ready_i",
        "w_last_o",
        "b_valid_i",
        "b_ready_o",
    ] {
        ports.push(port(&format!("m_{name}"), masters, 1));
    }
    for (name, bits) in [
        ("ar_addr_o", 64),
        ("ar_len_o", 8),
        ("ar_size_o", 3),
        ("ar_burst_o", 2),
        ("ar_id_o", 5),
        ("r_data_i", BEAT),
        ("r_id_i", 5),
        ("r_resp_i", 2),
        ("aw_addr_o", 64),
        ("aw_len_o", 8),
        ("aw_size_o", 3),
        ("aw_burst_o", 2),
        ("aw_id_o", 5),
        ("w_data_o", BEAT),
        ("w_strb_o", BEAT / 8),
        ("w_dbg_o", 32),
        ("b_id_i", 5),
        ("b_resp_i", 2),
    ] {
        ports.push(port(&format!("m_{name}"), bits, masters));
    }
    for name in [
        "aw_valid_i",
        "aw_ready_o",
        "w_valid_i",
        "w_ready_o",
        "b_valid_o",
        "b_ready_i",
        "ar_valid_i",
        "ar_ready_o",
        "r_valid_o",
        "r_ready_i",
    ] {
        ports.push(port(&format!("s_{name}"), SLAVES, 1));
    }
    for (name, bits) in [
        ("aw_addr_i", 24),
        ("w_data_i", 64),
        ("w_strb_i", 8),
        ("b_resp_o", 2),
        ("ar_addr_i", 24),
        ("r_data_o", 64),
        ("r_resp_o", 2),
    ] {
        ports.push(port(&format!("s_{name}"), bits, SLAVES));
    }
    ports
}

/// Ports of `gyre_network` with `dims` dimensions.
pub(super) fn network(dims: usize) -> Vec<Port> {
    let paths = 2 * dims;
    let units = 3 * paths + 2;
    let mut ports = vec![
        port("unit_clk_i", units, 1),
        port("unit_active_o", units, 1),
        port("rst_ni", 1, 1),
        port("cfg_i", 97, 1),
        port("time_i", 64, 1),
        port("err_o", 83, 1),
        port("idle_o", 1, 1),
        port("inj_valid_i", paths, 1),
        port("inj_class_i", 2 * paths, 1),
        port("inj_ctl_i", 35, paths),
        port("inj_data_i", FLIT, paths),
        port("inj_credit_o", paths * CLASSES, 1),
        port("ej_valid_o", paths * CLASSES, 1),
        port("ej_ready_i", paths * CLASSES, 1),
        port("ej_ctl_o", 35, paths * CLASSES),
        port("ej_data_o", FLIT, paths * CLASSES),
        port("link_state_o", 2, paths),
        port("perf_flit_o", paths, 1),
        port("perf_vc_o", 4 * paths, 1),
        port("perf_stall_o", paths, 1),
    ];
    ports.extend(links("link", paths));
    ports
}

/// Describes a port for an error message.
fn words(port: &Port) -> String {
    let direction = if port.input { "input" } else { "output" };
    let array = match port.elements {
        1 => String::new(),
        elements => format!(", {elements} of them"),
    };
    format!("{direction} of {} bits{array}", port.bits)
}

/// Compares the ports of `top` with what is expected.
///
/// # Errors
/// The first port that is missing, other than expected, or too many, in words.
pub(super) fn compare(top: &str, found: &[Port], expected: &[Port]) -> Result<(), String> {
    for port in expected {
        let wanted = words(port);
        match found.iter().find(|other| other.name == port.name) {
            None => {
                // Where one of the same kind has an unknown name, it was renamed perhaps.
                let known = |name: &str| expected.iter().any(|port| port.name == name);
                let other = found
                    .iter()
                    .find(|other| words(other) == wanted && !known(&other.name));
                let other = other.map_or(String::new(), |other| {
                    format!("; {} is not expected", other.name)
                });
                return Err(format!(
                    "{top}: port {} is missing: expected {wanted}{other}",
                    port.name
                ));
            }
            Some(other) if other != port => {
                let is = words(other);
                return Err(format!(
                    "{top}: port {} is {is}: expected {wanted}",
                    port.name
                ));
            }
            Some(_) => {}
        }
    }
    let known = |port: &&Port| expected.iter().any(|other| other.name == port.name);
    match found.iter().find(|port| !known(port)) {
        None => Ok(()),
        Some(port) => Err(format!(
            "{top}: port {} ({}) is not expected: nothing drives or reads it",
            port.name,
            words(port)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x8_first_port_that_differs_is_named() {
        let expected = node(3, 2);
        let changed = |change: &dyn Fn(&mut Vec<Port>)| {
            let mut ports = expected.clone();
            change(&mut ports);
            compare("gyre_node", &ports, &expected)
        };
        assert_eq!(changed(&|_| {}), Ok(()));
        assert_eq!(changed(&|ports| ports.reverse()), Ok(()));
        let error =
            changed(&|ports| ports.retain(|port| port.name != "irq_o")).expect_err("missing");
        assert_eq!(
            error,
            "gyre_node: port irq_o is missing: expected output of 1 bits"
        );
        let error = changed(&|ports| {
            let irq = ports.iter_mut().find(|port| port.name == "irq_o");
            irq.expect("a port").name = "interrupt_o".to_owned();
        })
        .expect_err("renamed");
        assert_eq!(
            error,
            "gyre_node: port irq_o is missing: expected output of 1 bits; interrupt_o is not expected"
        );
        let error = changed(&|ports| ports[0].bits = 22).expect_err("wider");
        assert_eq!(
            error,
            "gyre_node: port unit_clk_i is input of 22 bits: expected input of 40 bits"
        );
        let error = changed(&|ports| ports.push(port("more_i", 2, 3))).expect_err("one more");
        assert_eq!(
            error,
            "gyre_node: port more_i (input of 2 bits, 3 of them) is not expected: nothing drives or reads it"
        );
    }
}
