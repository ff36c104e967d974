// Everything around gyre_node: links, barrier wires, memory, register ports, interrupt.
#pragma once

#include "axi_slave.h"
#include "barrier_ports.h"
#include "link_ports.h"
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

    NodeWires(Model& model, Stalls stalls) {
        axi_.set_stalls(stalls);
        LinkPins pins{model};
        links_.init(pins);
        BarrierPins<Model> barrier_pins{model};
        barriers_.init(barrier_pins);
    }

    void load(const uint64_t* in, const uint64_t* end) {
        in = barriers_.load(links_.load(in));
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
        LinkPins link_pins{model};
        links_.drive(link_pins, cycle);
        BarrierPins<Model> barrier_pins{model};
        barriers_.drive(barrier_pins, cycle);
        AxiPins<Model> axi_pins{model};
        axi_.drive(axi_pins, cycle, out);
        HostPins<Model> host{model};
        registers_[0].drive(host, 0, cycle, out);
        DebugPins<Model> debug{model};
        registers_[1].drive(debug, 1, cycle, out);
    }

    void record(Model& model, uint64_t cycle, OutBuffer& out) {
        LinkPins link_pins{model};
        links_.record(link_pins, cycle, out);
        BarrierPins<Model> barrier_pins{model};
        barriers_.record(barrier_pins, cycle, kPorts, out);
        const uint32_t levels = model.wake_o | uint32_t(model.irq_o) << 16;
        if (levels != levels_) {
            levels_ = levels;
            out.open(Out::Levels, cycle, 0);
            out.push(levels);
        }
    }

    void lower(Model& model) { model.unit_clk_i = 0; }

    // Whether an input is other than in the last cycle: those of the torus, the clocks and the time aside, which
    // registers alone see.
    bool changed(const Model& model) {
        const uint64_t now = controls(model);
        const bool changed = now != controls_ || model.m_r_valid_i || model.m_b_valid_i || registers_[0].busy()
                             || registers_[1].busy() || links_.arrived() >> TorusPorts || barriers_.arrived();
        controls_ = now;
        return changed;
    }

    // Clocks of the units that are active or have input.
    void raise(Model& model, bool all) {
        if (all) {
            model.unit_clk_i = kUnits;
            return;
        }
        uint32_t needed = model.unit_active_o;
        if (registers_[0].busy() || registers_[1].busy()) needed |= kRegisters;
        if (links_.arrived() >> TorusPorts || barriers_.arrived()) needed |= kCollective;
        if (model.m_r_valid_i | model.m_b_valid_i) {
            for (int m = 0; m < Masters; m++) {
                if (model.m_r_valid_i >> m & 1) needed |= kTransmit | path_of(model.m_r_id_i[m]) << kTransmitPaths;
                if (model.m_b_valid_i >> m & 1) needed |= kReceive | path_of(model.m_b_id_i[m]) << kReceivePaths;
            }
        }
        model.unit_clk_i = needed;
    }

    void clear() {
        axi_.clear();
        for (RegisterMaster& master : registers_) master.clear();
    }

    void finish() const {
        links_.finish();
        barriers_.finish();
    }

    bool quiet(Model& model) {
        AxiPins<Model> axi_pins{model};
        return !links_.busy() && !links_.sending() && !barriers_.busy() && !barriers_.sending()
               && !axi_.requested(axi_pins)
               && !registers_[0].busy() && !registers_[1].busy();
    }

    uint64_t next_cycle() const {
        return std::min({links_.next_cycle(), barriers_.next_cycle(), axi_.next_cycle(), registers_[0].next_cycle(),
                         registers_[1].next_cycle()});
    }

private:
    using LinkPins = NodeLinkPins<Model, TorusPorts>;

    // All control inputs but those of links.
    static uint64_t controls(const Model& model) {
        uint64_t word = model.rst_ni;
        for (const uint64_t masters : {model.m_ar_ready_i, model.m_aw_ready_i, model.m_w_ready_i, model.m_r_valid_i,
                                       model.m_r_last_i, model.m_b_valid_i}) {
            word = word << Masters | masters;
        }
        for (const uint64_t bit : {model.s0_aw_valid_i, model.s0_w_valid_i, model.s0_b_ready_i, model.s0_ar_valid_i,
                                   model.s0_r_ready_i, model.s1_aw_valid_i, model.s1_w_valid_i, model.s1_b_ready_i,
                                   model.s1_ar_valid_i, model.s1_r_ready_i}) {
            word = word << 1 | bit;
        }
        return word;
    }

    // Units by bit of unit_clk_i: see gyre_node.
    static constexpr int kPaths = TorusPorts + 2;
    static constexpr uint32_t kRegisters = 1u << 0;
    static constexpr uint32_t kCollective = 1u << 1;
    static constexpr uint32_t kTransmit = 1u << 3;
    static constexpr uint32_t kReceive = 1u << 4;
    static constexpr int kTransmitPaths = 5;
    static constexpr int kReceivePaths = 5 + kPaths;
    static constexpr uint32_t kUnits = (1u << (6 + 2 * kPaths)) - 1;

    // The path that an answer from memory is for; ids from kPaths on are not of paths.
    static uint32_t path_of(unsigned id) { return id < kPaths ? 1u << id : 0; }

    LinkPorts<kPorts, FlitWords> links_;
    BarrierPorts<kTreePorts, FlitWords> barriers_;
    AxiSlave<Masters> axi_;
    RegisterMaster registers_[2];
    uint32_t levels_ = 0;
    uint64_t controls_ = ~uint64_t{0};
};

}  // namespace gyre
