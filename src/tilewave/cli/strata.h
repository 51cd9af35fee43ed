// `tilewave detect --strata`: importance sampling by the number of faults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewave/cli/stim_files.h"

namespace tilewave::cli {

struct StrataFlags {
  std::optional<std::string> strata;
  std::uint64_t fault_distance = 0;
  std::string allocation = "neyman";
  double confidence = 0.95;
};
void add_strata_flags(CLI::App& command, StrataFlags& flags);

/// Makes the shots and writes the table of strata and what follows from it, as JSON or CSV as
/// `format` says, which is that of --out_format where it was given. Options have must_be_zero; an
/// interrupt ends with the table of the shots made. Throws Error(kUsage), mostly before the output is
/// opened.
void write_strata(const stabilizer::StabProgram& program, stabilizer::SampleOptions options,
                  const StrataFlags& flags, const std::optional<std::string>& format,
                  const SampleFlags& shared);

}  // namespace tilewave::cli
