/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Triggers of the rising edges of a model's clocks.
#pragma once

#include <cstdint>

namespace gyre {

// Parts of the evaluation of a model: `inputs`, what depends on inputs; `look`, comparison of its clocks and resets with
// those that it saw last, noted in `triggered`; `edges`, what follows from that. The last makes other edges only where it
// changes the model's own `reset`.
template <class Model>
struct Parts;

// The triggers of a model, a bit each, by the clocks that rise; learnt from a model, since Verilator numbers them.
template <class Model, class Wires>
class ClockEdges {
    using Units = typename Wires::Units;

public:
    // All units.
    static constexpr Units kAll = ~Units{0} >> (8 * sizeof(Units) - Wires::kUnitCount);

    // Edges of a quiet model like this one, with its clocks low.
    static const ClockEdges& of(Model& model) {
        static const ClockEdges edges(model);
        return edges;
    }

    // Triggers of the clocks of `units` together.
    uint64_t triggered(Units units) const {
        uint64_t word = 0;
        for (const auto& group : groups_) {
            word |= group[units & (kGroupSize - 1)];
            units >>= kGroupBits;
        }
        return word;
    }

private:
    static constexpr int kGroupBits = 4;
    static constexpr unsigned kGroupSize = 1u << kGroupBits;
    static constexpr int kGroups = (Wires::kUnitCount + kGroupBits - 1) / kGroupBits;

    explicit ClockEdges(Model& model) {
        for (int unit = 0; unit < Wires::kUnitCount; unit++) {
            Wires::clock(model, Units{1} << unit);
            const uint64_t word = look(model);
            Wires::clock(model, 0);
            look(model);
            auto& group = groups_[unit / kGroupBits];
            for (unsigned index = 0; index < kGroupSize; index++) {
                if (index >> unit % kGroupBits & 1) group[index] |= word;
            }
        }
    }

    // Restores the model's notes: nothing has happened.
    static uint64_t look(Model& model) {
        Parts<Model>::look(model.rootp);
        uint64_t& noted = Parts<Model>::triggered(model.rootp);
        const uint64_t word = noted;
        noted = 0;
        return word;
    }

    uint64_t groups_[kGroups][kGroupSize] = {};
};

}  // namespace gyre
