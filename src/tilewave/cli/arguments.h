// Values of flags as people type them. Each throws Error(kUsage) naming the flag, the value and
// what would be right.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewave::cli {

/// A whole number in [least, most]: digits, optionally with a power of ten as in 1e6.
std::uint64_t parse_number(const std::string& flag, const std::string& text, std::uint64_t least,
                           std::uint64_t most);

/// A flag with such a number: `set` is called with it. CLI11's own numbers wrap around: it takes -1
/// for 2^64 - 1, and 10^20 for the largest there is.
CLI::Option* add_number_flag(CLI::App& command, const std::string& flag,
                             const std::function<void(std::uint64_t)>& set, const std::string& help,
                             std::uint64_t least = 0,
                             std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
/// The same into a variable, whose value stands where the flag is left out.
CLI::Option* add_number_flag(CLI::App& command, const std::string& flag, std::uint64_t& value,
                             const std::string& help);

/// A number in (0, 1].
double parse_share(const std::string& flag, const std::string& text);

/// Seconds: a number with the unit s, m or h, or without one, as in 90, 10m or 1.5h; positive.
double parse_duration(const std::string& flag, const std::string& text);

struct Span {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
};

/// "first:10", or a list of numbers and ranges such as "3,8,10-19"; `want` is what an error asks
/// for.
std::vector<Span> parse_spans(
    const std::string& flag, const std::string& text,
    const std::string& want = "first:N or a list of indices such as 0,5,8-11");

/// "all" (an empty list) or qubits as in parse_spans.
std::vector<std::uint32_t> parse_qubits(const std::string& flag, const std::string& text);

}  // namespace tilewave::cli
