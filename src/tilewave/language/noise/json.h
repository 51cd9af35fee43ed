// Noise models as JSON; docs/noise.md has the format.
#pragma once

#include <string>
#include <string_view>

#include "tilewave/circuit/noise_model.h"

namespace tilewave::language {

/// Throws Error(kInput) that names the file, the place inside it (such as channels[2].p), what is
/// wrong and what would be right.
circuit::NoiseModel read_noise_model(const std::string& path);

/// The same for a text; `name` stands for the file in errors.
circuit::NoiseModel parse_noise_model(std::string_view text, const std::string& name);

}  // namespace tilewave::language
