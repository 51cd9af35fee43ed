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

// Digits with an optional exponent; false when it is something else or too large.
bool read_number(const std::string& text, std::uint64_t& value) {
  const char* end = text.data() + text.size();
  auto [at, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || at == text.data()) return false;
  if (at == end) return true;
  if (*at != 'e' && *at != 'E') return false;
  unsigned exponent = 0;
  const auto [last, bad] = std::from_chars(at + 1, end, exponent);
  if (bad != std::errc() || last != end || exponent > 19) return false;
  for (; exponent > 0; --exponent) {
    if (value > kMost / 10) return false;
    value *= 10;
  }
  return true;
}

}  // namespace

std::uint64_t parse_number(const std::string& flag, const std::string& text, std::uint64_t least,
                           std::uint64_t most) {
  std::uint64_t value = 0;
  if (!read_number(text, value) || value < least || value > most) {
    std::string want = "a whole number of at least " + std::to_string(least);
    if (most < kMost) want += " and at most " + std::to_string(most);
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
    std::uint64_t count = 0;
    if (!read_number(text.substr(6), count) || count == 0) fail(flag, text, want);
    return {{0, count}};
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const std::size_t dash = item.find('-');
    std::uint64_t first = 0, last = 0;
    if (!read_number(item.substr(0, dash), first)) fail(flag, text, want);
    last = first;
    if (dash != std::string::npos &&
        (!read_number(item.substr(dash + 1), last) || last < first || last - first == kMost)) {
      fail(flag, text, want);
    }
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
