/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Everything around gyre_node: links, barrier wires, memory, register ports, interrupt.
#pragma once

#include "axi_slave.h"
#include "barrier_ports.h"
#include "link_ports.h"
#include "link_records.h"
#include "pins.h"
#include "register_master.h"

#include <algorithm>
#include <stdexcept>

namespace gyre {

template <class Model, int TorusPorts, int Masters, int FlitWords>
class NodeWires {
public:
    static constexpr int kTreePorts = 3;
    static constexpr int kPorts = TorusPorts + kTreePorts;  // with a link
    static constexpr int kMasters = Masters;
    static constexpr int kFlitWords = FlitWords;
    static constexpr int kUnitCount = 10 + 5 * TorusPorts;
    using Units = uint64_t;  // a bit a unit

    NodeWires(Model& model, Stalls stalls) {
        axi_.set_stalls(stalls);
        LinkPins pins{model};
        links_.init(pins);
        BarrierPins<Model> barrier_pins{model};
        barriers_.init(barrier_pins);
    }

    void load(uint64_t start, const uint64_t* in, const uint64_t* end) {
        in = records_.load(in, start);
        while (in != end) {
            const uint64_t head = *in++;
            const unsigned a = head >> 8 & 0xff, b = head >> 16 & 0xffff, c = head >> 32;
            switch (static_cast<In>(head & 0xff)) {
                case In::ReadData: {
                    const uint64_t due = *in++;
                    in = axi_.add_read_data(a, b, c, due, in);
                    break;
                }
                case In::WriteResp:
                    axi_.add_write_response(a, b, c, *in++);
                    break;
                case In::Register:
                    registers_[a].add(b != 0, in[0], in[1], in[2]);
                    in += 3;
                    break;
                case In::Stall:
                    axi_.stall_until(a, b, *in++);
                    break;
                default:
                    throw std::logic_error("unknown input record");
            }
        }
    }

    void drive(Model& model, uint64_t cycle, OutBuffer& out) {
        model.time_i = cycle;
        links_.begin();
        barriers_.begin();
        records_.take(cycle, [&](int port, const uint64_t* record) {
            if (port < kPorts) {
                LinkPins pins{model};
                links_.apply(pins, port, record);
            } else {
                BarrierPins<Model> pins{model};
                barriers_.apply(pins, port - kPorts, record);
            }
        });
        AxiPins<Model> axi_pins{model};
        axi_.drive(axi_pins, cycle, out);
        for (int slave = 0; slave < 2; slave++) {
            RegisterPins<Model> pins{model, slave};
            registers_[slave].drive(pins, slave, cycle, out);
        }
    }

    void record(Model& model, uint64_t cycle, OutBuffer& out) {
        LinkPins link_pins{model};
        const uint32_t torus = clocked_ >> kNetworkOutputs & kTorusLinks;
        links_.record(link_pins, cycle, out, clocked_ & kCollective ? torus | kTreeLinks : torus);
        if (clocked_ & kCollective) {
            BarrierPins<Model> barrier_pins{model};
            barriers_.record(barrier_pins, cycle, kPorts, out);
        }
        const uint32_t levels = model.wake_o | uint32_t(model.irq_o) << 16;
        if (levels != levels_) {
            levels_ = levels;
            out.open(Out::Levels, cycle, 0);
            out.push(levels);
        }
    }

    static void clock(Model& model, Units units) { model.unit_clk_i = units; }
    static Units clocks(const Model& model) { return model.unit_clk_i; }

    // Whether an input is other than in the last cycle: the reset aside, and those of register accesses, the torus, the
    // clocks and the time, which registers alone see.
    bool changed() const {
        return axi_.changed() || links_.arrived() >> TorusPorts || barriers_.arrived();
    }

    // Units that are active or have input.
    Units units(const Model& model) {
        Units needed = model.unit_active_o | Units{links_.arrived() & kTorusLinks} << kNetworkInputs;
        if (model.time_i >> kTimeUnit != time_) {
            time_ = model.time_i >> kTimeUnit;
            needed |= kNetworkTime;
        }
        if (registers_[0].offers() || registers_[1].offers()) needed |= kAccesses;
        if (links_.arrived() >> TorusPorts || barriers_.arrived()) needed |= kCollective;
        if (model.m_r_valid_i | model.m_b_valid_i) {
            for (int m = 0; m < Masters; m++) {
                if (model.m_r_valid_i >> m & 1) needed |= kTransmit | path_of(model.m_r_id_i[m], kPaths) << kTransmitPaths;
                if (model.m_b_valid_i >> m & 1) needed |= kReceive | path_of(model.m_b_id_i[m], kReceptionPaths) << kReceivePaths;
            }
        }
        return needed;
    }

    // The units that had a clock; all of them where a reset changed.
    void clocked(Units units) { clocked_ = units; }

    // The node is in reset until cycle `end`.
    void clear(uint64_t end) {
        axi_.clear();
        for (RegisterMaster& master : registers_) master.clear(end);
    }

    void finish() const { records_.finish(); }

    bool quiet(Model& model) {
        AxiPins<Model> axi_pins{model};
        return !links_.busy() && !links_.sending() && !barriers_.busy() && !barriers_.sending()
               && !axi_.requested(axi_pins)
               && !registers_[0].busy() && !registers_[1].busy();
    }

    uint64_t next_cycle() const {
        return std::min({records_.next_cycle(), axi_.next_cycle(), registers_[0].next_cycle(), registers_[1].next_cycle()});
    }

private:
    using LinkPins = NodeLinkPins<Model, TorusPorts>;

    // Units by bit of unit_clk_i: see gyre_node and gyre_network.
    static constexpr Units kAccesses = 1u << 0;
    static constexpr Units kCollective = 1u << 2;
    static constexpr Units kTransmit = 1u << 4;
    static constexpr Units kReceive = 1u << 5;
    static constexpr int kTransmitPaths = 6;
    static constexpr int kReceivePaths = 7 + TorusPorts;
    // Paths that transmit (links, loop-back, collective network), and those that receive (two more for high classes).
    static constexpr unsigned kPaths = TorusPorts + 2;
    static constexpr unsigned kReceptionPaths = kPaths + 2;
    static constexpr int kNetworkInputs = 8 + 2 * TorusPorts;
    static constexpr int kNetworkOutputs = kNetworkInputs + TorusPorts;
    static constexpr Units kNetworkTime = Units{1} << (kNetworkInputs + 3 * TorusPorts);
    static constexpr int kTimeUnit = 8;  // gyre_pkg::BirthUnit
    static constexpr uint32_t kTorusLinks = (1u << TorusPorts) - 1;
    static constexpr uint32_t kTreeLinks = (1u << kPorts) - 1 - kTorusLinks;

    // The unit of the path that an answer from memory is for; ids from the number of `paths` on are not of paths.
    static Units path_of(unsigned id, unsigned paths) {
        return Units{id < paths} << std::min(id, unsigned(TorusPorts));
    }

    LinkRecords<FlitWords> records_;
    LinkPorts<kPorts, FlitWords> links_;
    BarrierPorts<kTreePorts, FlitWords> barriers_;
    AxiSlave<Masters> axi_;
    RegisterMaster registers_[2];
    uint32_t levels_ = 0;
    Units clocked_ = ~Units{0};
    uint64_t time_ = ~uint64_t{0};  // in units, as the network has it
};

}  // namespace gyre
