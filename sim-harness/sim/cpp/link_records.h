/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Link records of a window on their way into a model.
#pragma once

#include "records.h"

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace gyre {

template <int DataWords>
class LinkRecords {
public:
    static constexpr size_t kRecord = 2 + DataWords;

    // Takes the link records at `in`, for cycles from `start` on; returns what follows them.
    const uint64_t* load(const uint64_t* in, uint64_t start) {
        const uint64_t count = *in++;
        records_ = in;
        start_ = start;
        if (next_.size() < count) next_.resize(count);
        for (uint64_t i = 0; i < count; i++) {
            // No link is longer.
            const uint64_t offset = (in[i * kRecord] >> 8) - start;
            if (offset >= kCycles) throw std::logic_error("link record out of its window");
            const uint64_t bit = uint64_t{1} << offset;
            next_[i] = cycles_ & bit ? first_[offset] : kNone;
            first_[offset] = i;
            cycles_ |= bit;
        }
        return in + count * kRecord;
    }

    // Cycle of the first record that was not applied.
    uint64_t next_cycle() const { return cycles_ == 0 ? kNever : start_ + __builtin_ctzll(cycles_); }

    // Calls apply(port, record) for each record of a cycle, in any order: a port has one at most, and one without stays
    // as it is.
    template <class Apply>
    void take(uint64_t cycle, Apply&& apply) {
        if (next_cycle() != cycle) return;
        for (uint16_t i = first_[cycle - start_]; i != kNone; i = next_[i]) {
            const uint64_t* record = records_ + i * kRecord;
            apply(static_cast<int>(*record & 0xff), record);
        }
        cycles_ &= cycles_ - 1;
    }

    // Every record must have been applied.
    void finish() const {
        if (cycles_ != 0) throw std::logic_error("link record out of its window");
    }

private:
    static constexpr unsigned kCycles = 64;
    static constexpr uint16_t kNone = ~uint16_t{0};

    const uint64_t* records_ = nullptr;
    uint64_t start_ = 0;
    uint64_t cycles_ = 0;          // a bit each from `start_` on: it has records
    uint16_t first_[kCycles] = {}; // of a cycle
    std::vector<uint16_t> next_;   // of the same cycle, by record
};

}  // namespace gyre
