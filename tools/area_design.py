# SPDX-License-Identifier: MIT OR Apache-2.0
"""The design that `tools/area.py` measures: elaborated once, cut into units, each a netlist of its own.

The node is elaborated with its hierarchy, as it is instantiated in three dimensions. Its tree is cut into units: a module in
SPLIT gives its own logic as one unit, its instances becoming ports, and each instance below is a unit of its own; any other
module is one unit with all that it contains. Small cells stay with the logic around them. So every gate of the node belongs to
exactly one instance of one unit. Instances of one module with the same ports, registers and memories are one unit with a count.
PARTS are measured by themselves too, without being counted again.

A unit's netlist has no source lines and numbers its nameless objects from 1, so that its digest changes only with the logic.
"""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

TOP = "gyre_node"
PARAMETERS = ("NDim=3",)

# Larger pieces that are measured in one piece, for the paths that cross units; they are not counted in the sums. By name: the
# instance of the node, or a module to elaborate with parameters.
WHOLES = {
    "router_1d": ("gyre_network", ("NDim=1",)),
    "router_3d": "u_network",
    "collective": "u_collective",
    "dma_transmit": "u_dma.u_tx",
    "dma_receive": "u_dma.u_rx",
}

# Modules whose instances are units of their own.
SPLIT = {
    "gyre_node",
    "gyre_network",
    "gyre_collective",
    "coll_port",
    "coll_up",
    "gyre_dma",
    "dma_tx",
    "dma_rx",
    "desc_activate",
    "flow_reorder",
}

# Modules that stay with the logic around them, besides those of rtl/common.
SMALL = {
    "axi_quiesce",
    "flow_ack",
    "flow_complete",
    "inj_occupancy",
    "router_errors",
    "rx_merge",
    "soft_reset",
}

# Modules in a unit that have a row of their own.
PARTS = {"router_buffer", "router_credits", "inject_buffer"}

def is_small(kind):
    """Whether a module stays with the logic around it."""
    return kind in SMALL or (ROOT / f"rtl/common/{kind}.sv").exists()


# Groups of the table, by the instance of the node that a unit lies in; the last takes the rest.
GROUPS = (
    ("Router and links", "u_network"),
    ("DMA engine", "u_dma"),
    ("Collective network", "u_collective"),
    ("Registers and the rest", ""),
)
WHOLE_GROUP = "In one piece"

MODULE = re.compile(r"^module (\\\S+)\n(.*?)^end\n", re.S | re.M)
PORT = re.compile(r"^  wire (?:width (\d+) )?(?:upto |signed )?(?:offset \d+ )?(input|output) (\d+) (\\\S+)$", re.M)
CELL = re.compile(r"^  cell (\\\S+) (\S+)\n((?:    .*\n)*)  end\n", re.M)
CONNECT = re.compile(r"^    connect (\\\S+) (.*)$", re.M)
SOURCE = re.compile(r"^ *attribute \\(?:src|hdlname) .*\n", re.M)
NUMBER = re.compile(r"(?<![\w\\])\$(\d+)")
STATE = re.compile(r"^  cell (\$(?:a|al|s)?dffe?|\$dffsr|\$dlatch) \S+\n(?:    (?!parameter \\WIDTH).*\n)*    parameter \\WIDTH (\d+)$", re.M)
MEMORY = re.compile(r"^  memory (?:width (\d+) )?(?:size (\d+) )?(?:offset \d+ )?(\S+)$", re.M)


def kind_of(module):
    """The name in the source of a module of the elaborated design: `\\link_unit$gyre_node.u_network` has it first."""
    return module[1:].split("$")[0]


def instance_of(module):
    """The path of a module's instance below the node, empty for the node itself."""
    path = module.partition("$")[2]
    return path.partition(".")[2]


class Design:
    """The elaborated node: its modules by name, each instance a module of its own."""

    def __init__(self, text, top=TOP):
        self.modules = {match[1]: match[2] for match in MODULE.finditer(SOURCE.sub("", text))}
        self.top = "\\" + top
        if self.top not in self.modules:
            raise ValueError(f"no module {top} in the elaborated design")
        self.instances = {name: [] for name in self.modules}
        for name, text in self.modules.items():
            for match in CELL.finditer(text):
                if match[1] in self.modules:
                    self.instances[name].append((match[1], match[2], match[3]))

    def cells(self, module):
        """The instances in a module: (module, name, body)."""
        return self.instances[module]

    def ports(self, module):
        """The ports of a module by name: (direction, width)."""
        return {match[4]: (match[2], int(match[1] or 1)) for match in PORT.finditer(self.modules[module])}

    def below(self, module):
        """A module and all that it contains, contents first."""
        found, seen = [], set()

        def walk(name):
            if name not in seen:
                seen.add(name)
                for child, _, _ in self.cells(name):
                    walk(child)
                found.append(name)

        walk(module)
        return found

    def shape(self, module, whole):
        """Tells variants of a module from each other: its ports, and the bits of registers and memories in it."""
        texts = [self.modules[name] for name in (self.below(module) if whole else kept(self, module))]
        registers = sum(int(match[2]) for text in texts for match in STATE.finditer(text))
        memories = sum(int(match[1] or 1) * int(match[2] or 1) for text in texts for match in MEMORY.finditer(text))
        return tuple(sorted(self.ports(module).items())), registers, memories


@dataclass
class Unit:
    """A unit: the module that stands for it, and the instances that are like it."""

    name: str
    design: Design
    module: str
    split: bool
    instances: list = field(default_factory=list)
    # The unit that has its cells already, or the group of the larger pieces; empty for a unit that is counted.
    part_of: str = ""
    text: str = ""
    digest: str = ""

    def groups(self):
        """How many instances lie in each group."""
        if self.part_of == WHOLE_GROUP:
            return {WHOLE_GROUP: 1}
        counts = {}
        for instance in self.instances:
            group = next(title for title, prefix in GROUPS if instance.split(".")[0].startswith(prefix))
            counts[group] = counts.get(group, 0) + 1
        return counts


def kept(design, module):
    """A split module and the small cells in it, contents first."""
    small = [child for child, _, _ in design.cells(module) if is_small(kind_of(child))]
    return [name for child in small for name in design.below(child)] + [module]


def cut(design, split=frozenset(SPLIT), parts=frozenset(PARTS)):
    """The units of a design, in the order of the tree."""
    units, by_shape = [], {}

    def add(module, part_of=""):
        kind = kind_of(module)
        own = kind in split and not part_of
        key = (kind, design.shape(module, not own))
        if key not in by_shape:
            by_shape[key] = Unit(kind, design, module, own, part_of=part_of)
            units.append(by_shape[key])
        unit = by_shape[key]
        unit.instances.append(instance_of(module))
        if own:
            for child, _, _ in design.cells(module):
                if not is_small(kind_of(child)):
                    add(child)
        elif not part_of:
            for child in design.below(module)[:-1]:
                if kind_of(child) in parts:
                    add(child, unit.name)

    add(design.top)
    # A further variant of a module has a number in its name.
    seen = {}
    for unit in units:
        seen[unit.name] = seen.get(unit.name, 0) + 1
        if seen[unit.name] > 1:
            unit.name += f".{seen[unit.name]}"
    return units


def open_up(design, module):
    """A module's own logic: each instance but the small ones is replaced by ports, `\\instance.port`, of the opposite direction."""
    text = design.modules[module]
    last = max([int(match[3]) for match in PORT.finditer(text)], default=0)
    wires, joins = [], []
    for child, name, body in design.cells(module):
        if is_small(kind_of(child)):
            continue
        ports = design.ports(child)
        for port, signal in CONNECT.findall(body):
            direction, width = ports[port]
            outer = f"\\{name[1:]}.{port[1:]}"
            last += 1
            opposite = "output" if direction == "input" else "input"
            wires.append(f"  wire width {width} {opposite} {last} {outer}\n")
            joins.append(f"  connect {outer} {signal}\n" if direction == "input" else f"  connect {signal} {outer}\n")

    def stays(match):
        return match[1] not in design.modules or is_small(kind_of(match[1]))

    text = CELL.sub(lambda match: match[0] if stays(match) else "", text)
    return "".join(wires) + text + "".join(joins)


def netlist(design, unit):
    """The unit as RTLIL, its module named `unit`; renumbered."""
    names = kept(design, unit.module) if unit.split else design.below(unit.module)
    bodies = {name: design.modules[name] for name in names}
    if unit.split:
        bodies[unit.module] = open_up(design, unit.module)
    text = "".join(f"module {name}\n{body}end\n" for name, body in bodies.items())
    # An instance's path in the names of modules would tell the instances of a unit from each other.
    for index, name in enumerate(names):
        other = "\\unit" if name == unit.module else f"\\{kind_of(name)}_{index}"
        text = re.sub(re.escape(name) + r"(?=\s)", lambda _, other=other: other, text)
    numbers = {}
    return NUMBER.sub(lambda match: f"${numbers.setdefault(match[1], len(numbers) + 1)}", text)


def all_units(elaborate):
    """The units of the node, and the larger pieces. `elaborate` gives the design of a top with parameters."""
    node = elaborate(TOP, PARAMETERS)
    units = cut(node)
    for name, where in WHOLES.items():
        if isinstance(where, str):
            found = [module for module in node.modules if instance_of(module) == where]
            if not found:
                raise ValueError(f"no instance {where} in {TOP}: WHOLES of tools/area_design.py names it")
            units.append(Unit(name, node, found[0], False, [where], WHOLE_GROUP))
        else:
            design = elaborate(*where)
            units.append(Unit(name, design, design.top, False, [], WHOLE_GROUP))
    return units


def prepare(units):
    """Gives each unit its netlist and its digest."""
    for unit in units:
        unit.text = netlist(unit.design, unit)
        unit.digest = hashlib.sha256(unit.text.encode()).hexdigest()
