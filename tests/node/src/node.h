// One Verilated node of one dimension whose links are joined, latency 1: port 0 of the torus to port 1, and in the
// tree of the collective network the parent's to that of child 0.
#pragma once

#include "rust/cxx.h"

#include <cstdint>
#include <memory>

class Vnode1;
class VerilatedContext;

struct Inputs;
struct Outputs;

class Node {
public:
    Node(bool randomize, int32_t seed);
    ~Node();
    // One clock cycle with these inputs; the outputs after it.
    Outputs cycle(const Inputs& inputs);

private:
    void sample(Outputs& outputs) const;

    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Vnode1> model_;
    uint64_t time_ = 0;
};

// A node out of reset; the seed fills what reset does not set with noise.
std::unique_ptr<Node> new_node(int32_t seed);
