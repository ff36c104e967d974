/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The links of a node: drives inputs from records, records outputs that change or carry a flit.
#pragma once

#include "bits.h"
#include "out_buffer.h"

#include <string>

namespace gyre {

template <int Ports, int DataWords>
class LinkPorts {
public:
    static constexpr uint32_t kValid = kLinkValid;
    static constexpr uint32_t kCredit = 1u << 25;  // link_word_t.credit

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

    // Whether an input holds a flit or a credit: each cycle of it counts.
    bool busy() const { return busy_ != 0; }

    // By input: whether it changed or held one of them in the last driven cycle.
    uint32_t arrived() const { return arrived_; }

    // A cycle begins; its records follow by `apply`.
    void begin() { arrived_ = busy_; }

    // Drives the inputs of port `p` from a record.
    template <class Pins>
    void apply(Pins& pins, int p, const uint64_t* record) {
        arrived_ |= 1u << p;
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

    // Of `ports`, a bit each; the others are as they were, without a flit or a credit.
    template <class Pins>
    void record(Pins& pins, uint64_t cycle, OutBuffer& out, uint32_t ports = (uint64_t{1} << Ports) - 1) {
        sending_ = false;
        for (; ports != 0; ports &= ports - 1) {
            const int p = __builtin_ctz(ports);
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
    uint32_t last_[Ports] = {};
    uint32_t busy_ = 0;
    uint32_t arrived_ = 0;
    bool sending_ = false;
};

}  // namespace gyre
