// From circuits of the public API to those inside.
#pragma once

#include "tilewave/circuit.h"
#include "tilewave/circuit/circuit.h"

namespace tilewave {

struct Circuit::Data {
  circuit::Circuit circuit;
};

struct Access {
  static const circuit::Circuit& inside(const Circuit& circuit) { return circuit.data_->circuit; }
};

}  // namespace tilewave
