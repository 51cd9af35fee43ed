// A value of a JSON text and where it stands, so that every error names its place, such as
// channels[2].p. For the sources that read noise models, which alone include the JSON library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/circuit/channel.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language::noise {

using nlohmann::json;

inline constexpr double kTolerance = 1e-8;  // of sums of probabilities and of K^dagger K

struct Node {
  const json& value;
  std::string path;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... problem) const {
    tilewave::fail(ExitCode::kInput, without_controls(path), ": ", printable(concat(problem...)));
  }
  Node operator[](std::size_t k) const { return {value[k], path + "[" + std::to_string(k) + "]"}; }
  bool has(const char* key) const { return value.contains(key); }
  Node at(const char* key, const char* what) const {
    if (!value.contains(key)) fail("needs \"", key, "\": ", what);
    return {value[key], path + "." + key};
  }

  void need_object() const {
    if (!value.is_object()) fail("must be an object {...}");
  }
  std::size_t need_list(const char* of) const {
    if (!value.is_array() || value.empty()) fail("must be a list of ", of);
    return value.size();
  }
  double number(double low, double high) const {
    if (!value.is_number()) fail("must be a number");
    const double x = value.get<double>();
    if (!(x >= low && x <= high)) {
      fail("is ", nine_digits(x), ": it must be ",
           std::isinf(high) ? "at least " + nine_digits(low)
                            : "from " + nine_digits(low) + " to " + nine_digits(high));
    }
    return x;
  }
  double probability() const { return number(0, 1); }
  double positive() const {
    const double x = number(0, INFINITY);
    if (x == 0) fail("must be larger than 0");
    return x;
  }
  std::string word() const {
    if (!value.is_string()) fail("must be a word in quotes");
    return value.get<std::string>();
  }
  std::uint32_t index(std::uint32_t most) const {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
        value.get<std::int64_t>() > most) {
      fail("must be a whole number from 0 to ", most);
    }
    return value.get<std::uint32_t>();
  }
  /// A key that means nothing is an error: a misspelled one would be no noise. `others` are keys as
  /// well, that the message does not list.
  void check_keys(std::initializer_list<std::string_view> own, const char* called = "keys",
                  std::span<const std::string_view> others = {}) const {
    std::vector<std::string_view> known(own);
    known.insert(known.end(), others.begin(), others.end());
    for (const auto& [key, ignored] : value.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      fail("has no key \"", key, "\"", did_you_mean(key, known), " (", called, ": ",
           comma_list(own), ")");
    }
  }
  /// Of a key; 0 where it is left out.
  double probability_of(const char* key) const { return has(key) ? at(key, "").probability() : 0; }
};

/// The channel of a rule, an object with the keys of both (json_channels.cc).
circuit::Channel read_channel(const Node& n);

}  // namespace tilewave::language::noise
