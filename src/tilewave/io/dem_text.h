// Stim's detector error model language (.dem), text to model and back.
#pragma once

#include <string>
#include <string_view>

#include "tilewave/circuit/error_model.h"

namespace tilewave::io {

/// Throws Error(kInput) with `file`:line:column and a caret.
circuit::ErrorModel parse_dem(std::string_view text, std::string_view file = "<model>");
std::string print_dem(const circuit::ErrorModel& model);

}  // namespace tilewave::io
