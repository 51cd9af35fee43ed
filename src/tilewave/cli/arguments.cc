#include "tilewave/cli/arguments.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"

namespace tilewave::cli {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void fail(const std::string& flag, const std::string& text, const std::string& want) {
  throw Error(ExitCode::kUsage, flag + " " + text + ": not " + want);
}

enum class Number { kNone, kTooLarge, kRead };  // kTooLarge: 2^64 or more

// Digits with an optional exponent.
Number read_number(const std::string& text, std::uint64_t& value) {
  const char* end = text.data() + text.size();
  auto [at, problem] = std::from_chars(text.data(), end, value);
  bool too_large = problem == std::errc::result_out_of_range;
  if (at == text.data() || (problem != std::errc() && !too_large)) return Number::kNone;
  if (at != end) {
    if (*at != 'e' && *at != 'E') return Number::kNone;
    unsigned exponent = 0;
    const auto [last, bad] = std::from_chars(at + 1, end, exponent);
    if (last != end || last == at + 1) return Number::kNone;
    if (bad == std::errc::result_out_of_range) exponent = 20;
    if (!too_large && value == 0) return Number::kRead;
    if (exponent > 19) too_large = true;
    for (; exponent > 0 && !too_large; --exponent) {
      too_large = value > kMost / 10;
      value *= 10;
    }
  }
  return too_large ? Number::kTooLarge : Number::kRead;
}

// The same of a part of a list; `want` is what the list should be.
std::uint64_t read_index(const std::string& flag, const std::string& text, const std::string& item,
                         const std::string& want) {
  std::uint64_t value = 0;
  const Number kind = read_number(item, value);
  if (kind == Number::kTooLarge)
    throw Error(ExitCode::kUsage,
                flag + " " + text + ": " + item + " is above " + std::to_string(kMost));
  if (kind == Number::kNone) fail(flag, text, want);
  return value;
}

}  // namespace

std::uint64_t parse_number(const std::string& flag, const std::string& text, std::uint64_t least,
                           std::uint64_t most) {
  std::uint64_t value = 0;
  const Number kind = read_number(text, value);
  if (kind != Number::kRead || value < least || value > most) {
    std::string want = "a whole number of at least " + std::to_string(least);
    if (most < kMost || kind == Number::kTooLarge) want += " and at most " + std::to_string(most);
    fail(flag, text, want);
  }
  return value;
}

CLI::Option* add_number_flag(CLI::App& command, const std::string& flag,
                             const std::function<void(std::uint64_t)>& set, const std::string& help,
                             std::uint64_t least, std::uint64_t most) {
  const auto read = [=](const std::string& text) { set(parse_number(flag, text, least, most)); };
  return command.add_option_function<std::string>(flag, read, help)->type_name("UINT");
}

CLI::Option* add_number_flag(CLI::App& command, const std::string& flag, std::uint64_t& value,
                             const std::string& help) {
  return add_number_flag(
      command, flag, [&value](std::uint64_t v) { value = v; }, help);
}

double parse_duration(const std::string& flag, const std::string& text) {
  double unit_s = 1;
  std::string_view digits = text;
  if (!digits.empty() && std::string_view("smh").find(digits.back()) != std::string_view::npos) {
    unit_s = digits.back() == 's' ? 1 : digits.back() == 'm' ? 60 : 3600;
    digits.remove_suffix(1);
  }
  const std::optional<double> value = whole_double(digits);
  if (!value || !(*value > 0) || !std::isfinite(*value * unit_s)) {
    fail(flag, text, "a time such as 90s, 10m or 1.5h");
  }
  return *value * unit_s;
}

double parse_share(const std::string& flag, const std::string& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 1)) {
    fail(flag, text, "a number above 0 and at most 1, such as 0.925");
  }
  return value;
}

std::vector<Span> parse_spans(const std::string& flag, const std::string& text,
                              const std::string& want) {
  std::vector<Span> spans;
  if (text.compare(0, 6, "first:") == 0) {
    const std::uint64_t count = read_index(flag, text, text.substr(6), want);
    if (count == 0) fail(flag, text, want);
    return {{0, count}};
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const std::size_t dash = item.find('-');
    const std::uint64_t first = read_index(flag, text, item.substr(0, dash), want);
    std::uint64_t last = first;
    if (dash != std::string::npos) last = read_index(flag, text, item.substr(dash + 1), want);
    if (last < first) fail(flag, text, want);
    if (last - first == kMost)
      throw Error(ExitCode::kUsage,
                  flag + " " + text + ": more than " + std::to_string(kMost) + " indices");
    spans.push_back({first, last - first + 1});
    at = comma + 1;
  }
  return spans;
}

std::vector<std::uint32_t> parse_qubits(const std::string& flag, const std::string& text) {
  if (text == "all") return {};
  std::vector<std::uint32_t> qubits;
  for (const Span& span : parse_spans(flag, text, "all or a list of qubits such as 0,3,8-11")) {
    if (span.first + span.count > 1'000'000 || span.count > 1'000'000) {
      fail(flag, text, "qubits of any circuit this program can hold");
    }
    for (std::uint64_t k = 0; k < span.count; ++k) {
      qubits.push_back(static_cast<std::uint32_t>(span.first + k));
    }
  }
  return qubits;
}

}  // namespace tilewave::cli
