// The links of a node: drives inputs from records, records outputs that change or carry a flit.
#pragma once

#include "bits.h"
#include "out_buffer.h"

#include <stdexcept>
#include <string>

namespace gyre {

template <int Ports, int DataWords>
class LinkPorts {
public:
    static constexpr uint32_t kValid = 1u << 2;    // link_word_t.valid
    static constexpr uint32_t kCredit = 1u << 25;  // link_word_t.credit
    static constexpr size_t kRecord = 2 + DataWords;

    // Makes all inputs quiet, also of ports without a link.
    template <class Pins>
    void init(Pins& pins) {
        const uint64_t zero[DataWords] = {};
        for (int p = 0; p < Ports; p++) {
            pins.link_ctl_i(p) = 0;
            pins.link_dbg_i(p) = 0;
            put(pins.link_data_i(p), zero);
        }
    }

    // Takes the link records at `in`; returns what follows them.
    const uint64_t* load(const uint64_t* in) {
        for (int p = 0; p < Ports; p++) {
            const uint64_t count = *in++;
            next_[p] = in;
            in += count * kRecord;
            end_[p] = in;
        }
        return in;
    }

    // Cycle of the first record that was not applied.
    uint64_t next_cycle() const {
        uint64_t cycle = kNever;
        for (int p = 0; p < Ports; p++) {
            if (next_[p] != end_[p] && *next_[p] < cycle) cycle = *next_[p];
        }
        return cycle;
    }

    // Whether an input holds a flit or a credit: each cycle of it counts.
    bool busy() const { return busy_ != 0; }

    template <class Pins>
    void drive(Pins& pins, uint64_t cycle) {
        for (int p = 0; p < Ports; p++) {
            if (next_[p] == end_[p] || *next_[p] != cycle) continue;
            const uint64_t* record = next_[p];
            next_[p] += kRecord;
            const uint32_t word = static_cast<uint32_t>(record[1]);
            pins.link_ctl_i(p) = word;
            if (word & kValid) {
                pins.link_dbg_i(p) = static_cast<uint32_t>(record[1] >> 32);
                put(pins.link_data_i(p), record + 2);
            }
            if (word & (kValid | kCredit)) {
                busy_ |= 1u << p;
            } else {
                busy_ &= ~(1u << p);
            }
        }
    }

    // Every record must have been applied.
    void finish() const {
        for (int p = 0; p < Ports; p++) {
            if (next_[p] != end_[p]) throw std::logic_error("link record out of its window");
        }
    }

    template <class Pins>
    void record(Pins& pins, uint64_t cycle, OutBuffer& out) {
        sending_ = false;
        for (int p = 0; p < Ports; p++) {
            const uint32_t word = pins.link_ctl_o(p);
            sending_ |= (word & (kValid | kCredit)) != 0;
            if (word == last_[p] && !(word & kValid)) continue;
            last_[p] = word;
            out.open(Out::LinkWord, cycle, p);
            uint64_t* to = out.extend(1 + DataWords);
            to[0] = word;
            if (word & kValid) {
                to[0] |= uint64_t(pins.link_dbg_o(p)) << 32;
                get(pins.link_data_o(p), to + 1);
            }
        }
    }

    // Whether an output carried a flit or a credit in the last recorded cycle.
    bool sending() const { return sending_; }

private:
    const uint64_t* next_[Ports] = {};
    const uint64_t* end_[Ports] = {};
    uint32_t last_[Ports] = {};
    uint32_t busy_ = 0;
    bool sending_ = false;
};

}  // namespace gyre
