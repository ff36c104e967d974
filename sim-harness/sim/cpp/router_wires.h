/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Everything around gyre_network: links, and sources and sinks of raw packets.
//
// Payload is made from the packet's 64-bit tag (its header words w6, w7) and checked at the sink.
#pragma once

#include "bits.h"
#include "link_ports.h"
#include "link_records.h"
#include "pins.h"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>

namespace gyre {

// InjectFlits: of an injection buffer.
template <class Model, int Ports, int FlitWords, unsigned InjectFlits>
class RouterWires {
public:
    static constexpr int kPorts = Ports;
    static constexpr int kMasters = 0;
    static constexpr int kFlitWords = FlitWords;
    static constexpr int kClasses = 4;

    RouterWires(Model& model, const uint64_t* cfg) {
        put(model.cfg_i, cfg);
        LinkPins<Model> pins{model};
        links_.init(pins);
        for (auto& path : credits_) {
            for (unsigned& credits : path) credits = InjectFlits;
        }
    }

    void load(uint64_t start, const uint64_t* in, const uint64_t* end) {
        in = records_.load(in, start);
        while (in != end) {
            const uint64_t head = *in++;
            if (static_cast<In>(head & 0xff) != In::Packet) {
                throw std::logic_error("unknown input record");
            }
            Packet packet;
            packet.vclass = head >> 16 & 3;
            packet.dbg = head >> 32;
            packet.due = in[0];
            packet.paths = in[1];
            std::copy(in + 2, in + 6, packet.header);
            packet.flits = flits_of(packet.header);
            arriving_.push_back(packet);
            in += 6;
        }
    }

    void drive(Model& model, uint64_t cycle, OutBuffer& out) {
        model.time_i = cycle;
        LinkPins<Model> pins{model};
        links_.begin();
        records_.take(cycle, [&](int port, const uint64_t* record) { links_.apply(pins, port, record); });
        take_credits(model);
        choose_paths(cycle);
        inject(model);
        eject(model, cycle, out);
    }

    void record(Model& model, uint64_t cycle, OutBuffer& out) {
        LinkPins<Model> pins{model};
        links_.record(pins, cycle, out);
        check_errors(model);
    }

    // A router has the one clock.
    static constexpr int kUnitCount = 1;
    using Units = uint32_t;
    static void clock(Model& model, Units units) { model.unit_clk_i = units ? kNetworkUnits : 0; }
    static Units clocks(const Model& model) { return model.unit_clk_i != 0; }
    Units units(const Model&) const { return 1; }
    void clocked(Units) {}
    bool changed() const { return true; }

    void clear(uint64_t) { throw std::logic_error("a router alone cannot be reset"); }

    void finish() const { records_.finish(); }

    bool quiet(Model& model) {
        uint64_t credit = 0;
        uint64_t ejecting = 0;
        get(model.inj_credit_o, &credit);
        get(model.ej_valid_o, &ejecting);
        return !links_.busy() && !links_.sending() && credit == 0 && ejecting == 0 && !injecting_;
    }

    uint64_t next_cycle() const {
        uint64_t cycle = records_.next_cycle();
        if (!arriving_.empty()) cycle = std::min(cycle, arriving_.front().due);
        for (const auto& source : sources_) {
            if (!source.empty()) cycle = std::min(cycle, source.front().due);
        }
        return cycle;
    }

private:
    static constexpr uint64_t kNetworkUnits = (uint64_t{1} << (3 * Ports + 2)) - 1;
    static constexpr int kHeaderFlits = 4 / FlitWords;

    struct Packet {
        uint64_t header[4];
        uint64_t due;
        uint64_t paths;  // bit p: may take injection path p
        uint32_t dbg;
        unsigned vclass;
        unsigned flits;
    };
    struct Arrival {
        uint64_t header[4];
        uint64_t head_cycle;
        unsigned flits = 0;
    };

    static unsigned flits_of(const uint64_t* header) {
        const unsigned len = header[1] >> 4 & 0x3ff;  // w2[13:4]
        return ((len + 31) / 32 + 1) * kHeaderFlits;
    }

    static uint64_t payload(const uint64_t* header, unsigned index) {
        return (header[3] ^ index) * 0x9e3779b97f4a7c15u;
    }

    // Word `w` of flit `f` of a packet.
    static uint64_t word_of(const uint64_t* header, unsigned f, unsigned w) {
        const unsigned index = f * FlitWords + w;
        return index < 4 ? header[index] : payload(header, index);
    }

    void take_credits(Model& model) {
        uint64_t freed = 0;
        get(model.inj_credit_o, &freed);
        if (freed == 0) return;
        for (int p = 0; p < Ports; p++) {
            for (int c = 0; c < kClasses; c++) {
                credits_[p][c] += freed >> (p * kClasses + c) & 1;
            }
        }
    }

    // A packet that is due goes to the path of its choice with least before it.
    void choose_paths(uint64_t cycle) {
        while (!arriving_.empty() && arriving_.front().due <= cycle) {
            const Packet& packet = arriving_.front();
            int path = -1;
            for (int p = 0; p < Ports; p++) {
                if (packet.paths >> p & 1 && (path < 0 || backlog(p) < backlog(path))) path = p;
            }
            if (path < 0) throw std::logic_error("packet without an injection path");
            queued_[path] += packet.flits;
            sources_[path].push_back(packet);
            arriving_.pop_front();
        }
    }

    // Flits in front of a new one on a path.
    uint64_t backlog(int path) const {
        uint64_t flits = queued_[path];
        for (const unsigned credits : credits_[path]) flits += InjectFlits - credits;
        return flits;
    }

    void inject(Model& model) {
        uint64_t valid = 0, classes = 0;
        for (int p = 0; p < Ports; p++) {
            auto& source = sources_[p];
            if (source.empty()) continue;
            const Packet& packet = source.front();
            unsigned& credits = credits_[p][packet.vclass];
            if (credits == 0) continue;
            credits--;
            queued_[p]--;
            const unsigned f = sent_[p]++;
            const bool tail = f + 1 == packet.flits;
            valid |= uint64_t{1} << p;
            classes |= uint64_t{packet.vclass} << (2 * p);
            const uint64_t ctl = packet.dbg | uint64_t(f == 0) << 32 | uint64_t(tail) << 33;
            put(model.inj_ctl_i[p], &ctl);
            uint64_t data[FlitWords];
            for (int w = 0; w < FlitWords; w++) data[w] = word_of(packet.header, f, w);
            put(model.inj_data_i[p], data);
            if (tail) {
                source.pop_front();
                sent_[p] = 0;
            }
        }
        injecting_ = valid != 0;
        put(model.inj_valid_i, &valid);
        put(model.inj_class_i, &classes);
    }

    void eject(Model& model, uint64_t cycle, OutBuffer& out) {
        const uint64_t ready = (uint64_t{1} << (Ports * kClasses)) - 1;
        put(model.ej_ready_i, &ready);
        uint64_t valid = 0;
        get(model.ej_valid_o, &valid);
        if (valid == 0) return;
        for (int p = 0; p < Ports; p++) {
            for (int c = 0; c < kClasses; c++) {
                if (valid >> (p * kClasses + c) & 1) accept(model, p, c, cycle, out);
            }
        }
    }

    void accept(Model& model, int p, int c, uint64_t cycle, OutBuffer& out) {
        Arrival& arrival = arrivals_[p][c];
        uint64_t ctl = 0, data[FlitWords];
        get(model.ej_ctl_o[p][c], &ctl);
        get(model.ej_data_o[p][c], data);
        const bool head = ctl >> 32 & 1, tail = ctl >> 33 & 1, err = ctl >> 34 & 1;
        if (head != (arrival.flits == 0)) fail("head mark in the wrong place", p, c);
        if (head) arrival.head_cycle = cycle;
        for (int w = 0; w < FlitWords; w++) {
            const unsigned index = arrival.flits * FlitWords + w;
            if (index < 4) {
                arrival.header[index] = data[w];
            } else if (!err && data[w] != payload(arrival.header, index)) {
                fail("payload differs from what was sent", p, c);
            }
        }
        arrival.flits++;
        if (!tail) return;
        if (!err && arrival.flits != flits_of(arrival.header)) {
            fail("tail mark in the wrong place", p, c);
        }
        out.open(Out::PacketOut, cycle, p, c | err << 8);
        std::copy(arrival.header, arrival.header + 4, out.extend(4));
        out.push(arrival.head_cycle);
        arrival.flits = 0;
    }

    void check_errors(Model& model) {
        uint64_t words[(sizeof(model.err_o) + 7) / 8] = {};
        get(model.err_o, words);
        // error_t: valid[82], reason[81:74], where[73:64], info[63:0]
        if (words[1] >> 18 & 1) {
            throw std::runtime_error("error " + std::to_string(words[1] >> 10 & 0xff) + " at "
                                     + std::to_string(words[1] & 0x3ff));
        }
    }

    [[noreturn]] static void fail(const char* what, int path, int vclass) {
        throw std::runtime_error("packet on ejection path " + std::to_string(path) + " class "
                                 + std::to_string(vclass) + ": " + what);
    }

    LinkRecords<FlitWords> records_;
    LinkPorts<Ports, FlitWords> links_;
    std::deque<Packet> arriving_;  // in order of their cycles
    std::deque<Packet> sources_[Ports];
    uint64_t queued_[Ports] = {};  // flits of the sources
    unsigned sent_[Ports] = {};
    unsigned credits_[Ports][kClasses];
    Arrival arrivals_[Ports][kClasses];
    bool injecting_ = false;
};

}  // namespace gyre
