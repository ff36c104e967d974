// SPDX-License-Identifier: MIT OR Apache-2.0
// The entry of a library with the routing functions behind route_probe.
#include "bits.h"
#include "model.h"

#include "Vmodel.h"

namespace gyre {

namespace {

void decide(const RoutingQuery& query, RoutingDecision& decision) {
    static VerilatedContext context;
    static Vmodel probe{&context};
    put(probe.coord_i, &query.coord);
    put(probe.size_i, &query.size);
    put(probe.ring_i, &query.ring);
    put(probe.dim_order_i, &query.dim_order);
    put(probe.head_i, &query.head);
    probe.hint_i = 0;
    probe.order_i = 0;
    probe.in_port_i = query.in_port;
    probe.in_vc_i = query.in_vc;
    probe.path_i = 0;
    probe.len_i = 0;
    probe.eval();
    decision = {probe.port_o, probe.dateline_o, probe.minimal_o};
}

}  // namespace

}  // namespace gyre

extern "C" __attribute__((visibility("default"))) const gyre::RoutingEntry* gyre_routing() {
    static const gyre::RoutingEntry entry{gyre::decide};
    return &entry;
}
