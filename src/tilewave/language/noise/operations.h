// The operations that a noise model names: where a rule applies.
#pragma once

#include <string>

#include "tilewave/circuit/gate_table.h"
#include "tilewave/circuit/noise_model.h"

namespace tilewave::language {

/// The gate of this name in OpenQASM or in this project; null: there is none.
const circuit::GateInfo* find_noise_gate(const std::string& name);

/// Adds to the operations of a rule, whose channel and positions are known, one by its name: a
/// gate, all, measure, reset, unitary, delay or idle. Returns what is wrong with that; "": nothing.
std::string add_operation(const std::string& word, circuit::NoiseRule& rule);

}  // namespace tilewave::language
