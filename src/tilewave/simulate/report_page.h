// A run as one self-contained HTML page: the JSON of the run with a script that draws it. Counts,
// marginals, expectations, and the plan as a timeline of passes, predicted and measured, each with
// its bytes and its rate against the machine's limit. No network, no library; readable on a phone
// and in dark mode.
#pragma once

#include <string>
#include <string_view>

namespace tilewave::simulate {

/// The page of a run. `json` is what `tilewave run --json` prints, with these further keys where
/// they are known: title, steps (a list of {step, bytes, predicted_s, measured_s}) and
/// limit_bytes_per_s. Every number shown carries its place in the JSON as data-key.
std::string report_page(std::string_view json);

}  // namespace tilewave::simulate
