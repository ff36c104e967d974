// Link records of some ports on their way into a model.
#pragma once

#include "records.h"

#include <cstddef>
#include <stdexcept>

namespace gyre {

template <int Ports, int DataWords>
class PortRecords {
public:
    static constexpr size_t kRecord = 2 + DataWords;

    // Takes the link records at `in`; returns what follows them.
    const uint64_t* load(const uint64_t* in) {
        for (int p = 0; p < Ports; p++) {
            const uint64_t count = *in++;
            next_[p] = in;
            in += count * kRecord;
            end_[p] = in;
        }
        find_first();
        return in;
    }

    // Cycle of the first record that was not applied.
    uint64_t next_cycle() const { return first_; }

    // Calls apply(port, record) for each record of a cycle; ports without one stay as they are.
    template <class Apply>
    void take(uint64_t cycle, Apply&& apply) {
        if (first_ != cycle) return;
        for (int p = 0; p < Ports; p++) {
            if (next_[p] == end_[p] || *next_[p] != cycle) continue;
            apply(p, next_[p]);
            next_[p] += kRecord;
        }
        find_first();
    }

    // Every record must have been applied.
    void finish() const {
        for (int p = 0; p < Ports; p++) {
            if (next_[p] != end_[p]) throw std::logic_error("link record out of its window");
        }
    }

private:
    void find_first() {
        first_ = kNever;
        for (int p = 0; p < Ports; p++) {
            if (next_[p] != end_[p] && *next_[p] < first_) first_ = *next_[p];
        }
    }

    uint64_t first_ = kNever;
    const uint64_t* next_[Ports] = {};
    const uint64_t* end_[Ports] = {};
};

}  // namespace gyre
