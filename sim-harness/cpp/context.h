// The Verilator context of a machine's models and their common waveform.
#pragma once

#include "cycle_signal.h"

#include "verilated.h"
#include "verilated_vcd_c.h"

#include <memory>

namespace gyre {

class SimContext {
public:
    SimContext(bool traced, bool noise, uint32_t seed) {
        verilated.randReset(noise ? 2 : 0);
        verilated.randSeed(static_cast<int>(seed));
        if (traced) verilated.traceEverOn(true);
    }

    mutable VerilatedContext verilated;
    mutable std::unique_ptr<VerilatedVcdC> trace;
    mutable CycleSignal cycle;
};

}  // namespace gyre
