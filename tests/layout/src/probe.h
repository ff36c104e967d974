// Asks the Verilated layout_probe for fields of the structs of gyre_pkg.
#pragma once

#include "rust/cxx.h"

#include <array>
#include <cstdint>

// The value of field `field` of struct `kind` in `bits` (64 bytes), 12 bytes little-endian; empty if
// there is no such field.
rust::Vec<uint8_t> probe_field(uint8_t kind, uint8_t field, rust::Slice<const uint8_t> bits);
