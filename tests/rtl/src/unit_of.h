// Implementation of Unit for a Verilated class and the list of its ports.
#pragma once

#include "gyre-rtl-tests/src/unit.h"

#include "verilated.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

// A port: the elements of an unpacked array lie one behind the other, `stride` bytes each.
struct PortRef {
    const char* name;
    size_t bits;
    size_t elements;
    void* data;
    size_t stride;
};

template <class Model>
class UnitOf final : public Unit {
public:
    template <class List>
    UnitOf(int32_t seed, List list) {
        context_.randReset(2);
        context_.randSeed(seed);
        model_ = std::make_unique<Model>(&context_, "dut");
        ports_ = list(*model_);
    }

    size_t ports() const override { return ports_.size(); }
    rust::String port_name(size_t port) const override { return ports_.at(port).name; }
    size_t port_bits(size_t port) const override { return ports_.at(port).bits; }
    size_t port_elements(size_t port) const override { return ports_.at(port).elements; }

    void write(size_t port, size_t element, rust::Slice<const uint32_t> words) override {
        std::memcpy(place(port, element, words.size()), words.data(), bytes(port));
    }

    void read(size_t port, size_t element, rust::Slice<uint32_t> words) const override {
        std::memset(words.data(), 0, words.size() * sizeof(uint32_t));
        std::memcpy(words.data(), place(port, element, words.size()), bytes(port));
    }

    void eval() override {
        context_.timeInc(1);
        model_->eval();
    }

    uint64_t state() const override {
        using Root = std::remove_reference_t<decltype(*model_->rootp)>;
        const auto* const root = reinterpret_cast<const char*>(model_->rootp);
        uint64_t hash = 0xcbf29ce484222325u; // FNV-1a over 8 bytes at a time
        for (size_t at = 0; at + sizeof(uint64_t) <= sizeof(Root); at += sizeof(uint64_t)) {
            uint64_t word;
            std::memcpy(&word, root + at, sizeof(word));
            hash = (hash ^ word) * 0x100000001b3u;
        }
        return hash;
    }

private:
    size_t bytes(size_t port) const { return ports_[port].stride; }

    char* place(size_t port, size_t element, size_t words) const {
        const PortRef& ref = ports_.at(port);
        if (element >= ref.elements || words * sizeof(uint32_t) < ref.stride) {
            throw std::out_of_range(std::string("access outside port ") + ref.name);
        }
        return static_cast<char*>(ref.data) + element * ref.stride;
    }

    VerilatedContext context_;
    std::unique_ptr<Model> model_;
    std::vector<PortRef> ports_;
};

template <class Model, class List>
std::unique_ptr<Unit> make(int32_t seed, List list) {
    return std::make_unique<UnitOf<Model>>(seed, list);
}

}  // namespace
