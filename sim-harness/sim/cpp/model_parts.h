/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Parts of the evaluation of the model in this library, which Verilator calls Vmodel.
#pragma once

#include "clock_edges.h"
#include "model.h"

#include "Vmodel.h"
#include "Vmodel___024root.h"
#if GYRE_COVERED
#include "Vmodel__Syms.h"
#endif

#include <iterator>

// Functions of the model that are not in its headers.
bool Vmodel___024root___eval_phase__ico(Vmodel___024root*);
bool Vmodel___024root___eval_phase__act(Vmodel___024root*);
bool Vmodel___024root___eval_phase__nba(Vmodel___024root*);

template <>
struct gyre::Parts<Vmodel> {
    // Whether parts of the model can be evaluated by themselves. Counting coverage keeps processes of the RTL whole, and they
    // follow more than the clocks of their units.
    static constexpr bool kPartial = GYRE_COVERED == 0;
    static void inputs(Vmodel___024root* root) {
        root->__VicoFirstIteration = 1;
        Vmodel___024root___eval_phase__ico(root);
        root->__VicoFirstIteration = 0;
    }
    static void look(Vmodel___024root* root) { Vmodel___024root___eval_phase__act(root); }
    static void edges(Vmodel___024root* root) { Vmodel___024root___eval_phase__nba(root); }
    static uint64_t& triggered(Vmodel___024root* root) {
        static_assert(sizeof root->__VnbaTriggered == sizeof(uint64_t));
        return root->__VnbaTriggered[0];
    }
#if GYRE_COVERED
    static Counts coverage(const Vmodel___024root* root) {
        const auto& points = root->vlSymsp->__Vcoverage;
        return {points, std::size(points)};
    }
#else
    static Counts coverage(const Vmodel___024root*) { return {nullptr, 0}; }
#endif
    // The reset that the model makes itself, if it has one: GYRE_RESET, see models.rs.
    static bool reset([[maybe_unused]] const Vmodel___024root* root) { return GYRE_RESET; }
};
