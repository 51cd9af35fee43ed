// Values of flags as people type them. Each throws Error(kUsage) naming the flag, the value and
// what would be right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/io/raster.h"

namespace tilewave::cli {

/// Throws Error(kUsage).
[[noreturn]] void refuse_usage(const std::string& message);

/// A whole number in [least, most]: digits, optionally with a power of ten as in 1e6.
std::uint64_t parse_number(const std::string& flag, const std::string& text, std::uint64_t least,
                           std::uint64_t most);

struct Span {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
};

/// "first:10", or a list of numbers and ranges such as "3,8,10-19".
std::vector<Span> parse_spans(const std::string& flag, const std::string& text);

/// "all" (an empty list) or qubits as in parse_spans.
std::vector<std::uint32_t> parse_qubits(const std::string& flag, const std::string& text);

/// --type of a raw raster: u8, u16, ... f32, and f64 where the tool reads doubles.
io::SampleType parse_sample_type(const std::string& name, bool with_f64);

}  // namespace tilewave::cli
