/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Clocks a Verilated model; the wire side (`Wires`) drives and records around each rising edge.
#pragma once

#include "clock_edges.h"
#include "context.h"
#include "model.h"
#include "out_buffer.h"

#include <algorithm>
#include <string>

namespace gyre {

// `Wires` has: load(start, in, end), drive(model, cycle, out), record(model, cycle, out), clear(end of the reset), finish(),
// quiet(model) (nothing that the model offers or is offered), next_cycle() (of its own events),
// kUnitCount units with clocks of their own, clock(model, units), which sets those, clocks(model), which of them are high,
// units(model): those that need one, clocked(units): those that had one, and
// changed(): whether an input, the reset aside, that more than registers look at is another than in the cycle before.
template <class Model, class Wires>
class ModelRunner final : public SimNode {
public:
    template <class... Args>
    ModelRunner(std::shared_ptr<ModelContext> context, const char* name, Args&&... args)
        : context_(std::move(context)),
          model_(&context_->verilated, name),
          wires_(model_, std::forward<Args>(args)...) {
        lower();
        model_.rst_ni = 1;
        model_.eval();
        model_.rst_ni = 0;
        model_.eval();
        // With all inputs quiet; nothing is offered in reset.
        wires_.drive(model_, 0, out_);
        for (int i = 0; i < kResetCycles; i++) {
            rise(false);
            fall();
        }
        model_.rst_ni = 1;
        model_.eval();
        edges_ = &Edges::of(model_);
    }

    ~ModelRunner() override { model_.final(); }

    Words run(uint64_t start, uint32_t cycles, bool skip, Words input) override {
        out_.clear(start);
        cycle_ = start;
        wires_.load(start, input.data, input.data + input.size);
        const uint64_t end = start + cycles;
        uint64_t evaluated = 0;
        while (cycle_ < end) {
            const uint64_t event = next_event(cycle_);
            if (event > cycle_ && skip) {
                cycle_ = std::min(event, end);
                continue;
            }
            if (was_idle_ && wires_.next_cycle() <= cycle_) was_idle_ = false;
            model_.rst_ni = cycle_ >= reset_end_;
            wires_.drive(model_, cycle_, out_);
            gyre_rtl_hold();
            rise(skip && Parts<Model>::kPartial);
            gyre_rtl_release();
            wires_.record(model_, cycle_, out_);
            // Twice in a row, in case idle_o is a register itself.
            const bool idle = model_.rst_ni && model_.idle_o && wires_.quiet(model_);
            settled_ = idle && was_idle_;
            was_idle_ = idle;
            evaluated++;
            cycle_++;
        }
        wires_.finish();
        out_.open(Out::End, end - 1, 0, settled_);
        out_.push(next_event(end));
        out_.push(evaluated);
        return {out_.data(), out_.size()};
    }

    void fall() override {
        if (!wires_.clocks(model_)) return;
        lower();
        model_.eval();
    }

    void reset(uint64_t cycle) override {
        reset_end_ = cycle + kResetCycles;
        wires_.clear(reset_end_);
        model_.rst_ni = 0;
        // Offers are withdrawn at once: reset is asynchronous.
        model_.eval();
        reset_seen_ = false;
        settled_ = was_idle_ = false;
    }

    uint64_t cycle() const override { return cycle_; }
    uint32_t ports() const override { return Wires::kPorts; }
    uint32_t masters() const override { return Wires::kMasters; }
    Counts coverage() const override { return Parts<Model>::coverage(model_.rootp); }

private:
    static constexpr int kResetCycles = 4;

    using Edges = ClockEdges<Model, Wires>;

    void lower() { wires_.clock(model_, 0); }

    // A rising edge, with the inputs as they are. With `skip`, what changes nothing is not evaluated, and the clocks of
    // the model stay low: it is told what their edges trigger.
    void rise(bool skip) {
        auto* root = model_.rootp;
        if (wires_.clocks(model_)) {
            // An evaluation sees an edge if the clock was low when it looked last. Evaluating the low clocks would
            // compute the same twice.
            lower();
            Parts<Model>::look(root);
        }
        if (!skip) {
            // All of it, with what a waveform needs.
            wires_.clock(model_, Edges::kAll);
            wires_.clocked(Edges::kAll);
            model_.eval();
            reset_seen_ = model_.rst_ni;
            return;
        }
        const bool reset_changed = reset_seen_ != model_.rst_ni;
        if (reset_changed || wires_.changed()) Parts<Model>::inputs(root);
        if (reset_changed) {
            reset_seen_ = model_.rst_ni;
            Parts<Model>::look(root);
        }
        bool reset = Parts<Model>::reset(root);
        const auto units = wires_.units(model_);
        Parts<Model>::triggered(root) |= edges_->triggered(units);
        wires_.clocked(model_.rst_ni ? units : Edges::kAll);
        Parts<Model>::edges(root);
        while (Parts<Model>::reset(root) != reset) {
            wires_.clocked(Edges::kAll);
            reset = Parts<Model>::reset(root);
            Parts<Model>::look(root);
            Parts<Model>::edges(root);
        }
    }

    // The first cycle from `now` on in which something can change.
    uint64_t next_event(uint64_t now) {
        if (!settled_) return now;
        return std::max(now, wires_.next_cycle());
    }

    std::shared_ptr<ModelContext> context_;
    Model model_;
    Wires wires_;
    const Edges* edges_ = nullptr;
    OutBuffer out_;
    uint64_t cycle_ = 0;
    uint64_t reset_end_ = 0;
    bool settled_ = false;
    bool was_idle_ = false;
    bool reset_seen_ = true;  // rst_ni when the model looked last
};

}  // namespace gyre
