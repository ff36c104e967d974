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

    // The record of a port for a cycle, once; none if its wires stay as they are.
    const uint64_t* take(int p, uint64_t cycle) {
        if (next_[p] == end_[p] || *next_[p] != cycle) return nullptr;
        const uint64_t* record = next_[p];
        next_[p] += kRecord;
        return record;
    }

    // Every record must have been applied.
    void finish() const {
        for (int p = 0; p < Ports; p++) {
            if (next_[p] != end_[p]) throw std::logic_error("link record out of its window");
        }
    }

private:
    const uint64_t* next_[Ports] = {};
    const uint64_t* end_[Ports] = {};
};

}  // namespace gyre
