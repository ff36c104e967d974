#include "gyre-layout-tests/src/probe.h"

#include "Vlayout_probe.h"

rust::Vec<uint8_t> probe_field(uint8_t kind, uint8_t field, rust::Slice<const uint8_t> bits) {
    VerilatedContext context;
    Vlayout_probe probe{&context};
    probe.struct_i = kind;
    probe.field_i = field;
    for (size_t word = 0; word < 16; word++) {
        uint32_t value = 0;
        for (size_t byte = 0; byte < 4; byte++) value |= uint32_t{bits[4 * word + byte]} << (8 * byte);
        probe.bits_i[word] = value;
    }
    probe.eval();
    rust::Vec<uint8_t> value;
    if (!probe.known_o) return value;
    for (size_t byte = 0; byte < 12; byte++) {
        value.push_back(uint8_t(probe.value_o[byte / 4] >> (8 * (byte % 4))));
    }
    return value;
}
