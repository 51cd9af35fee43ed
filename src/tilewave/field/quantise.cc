#include "tilewave/field/quantise.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <type_traits>

#include "tilewave/base/error.h"
#include "tilewave/field/half.h"

namespace tilewave::field {
namespace {

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

double as_double(Half h) { return static_cast<double>(to_float(h)); }
template <class T>
double as_double(T v) {
  return static_cast<double>(v);
}

// Calls f with a typed pointer.
template <class F>
void with_type(io::SampleType type, const void* data, F&& f) {
  switch (type) {
    case io::SampleType::kUint8:
      return f(static_cast<const std::uint8_t*>(data));
    case io::SampleType::kUint16:
      return f(static_cast<const std::uint16_t*>(data));
    case io::SampleType::kInt16:
      return f(static_cast<const std::int16_t*>(data));
    case io::SampleType::kUint32:
      return f(static_cast<const std::uint32_t*>(data));
    case io::SampleType::kInt32:
      return f(static_cast<const std::int32_t*>(data));
    case io::SampleType::kFloat16:
      return f(static_cast<const Half*>(data));
    case io::SampleType::kFloat32:
      return f(static_cast<const float*>(data));
    case io::SampleType::kFloat64:
      return f(static_cast<const double*>(data));
  }
}

// The value as a sample of the type holds it: -9999.9 in 32-bit floats is -9999.900390625. What
// would become infinite stays, and is no sample.
double as_sample(io::SampleType type, double value) {
  double rounded = value;
  if (type == io::SampleType::kFloat16) rounded = as_double(to_half(static_cast<float>(value)));
  if (type == io::SampleType::kFloat32) rounded = static_cast<double>(static_cast<float>(value));
  return std::isfinite(rounded) ? rounded : value;
}

// Index of a value in a table of all values of its type; only for 8 and 16-bit integers.
template <class T>
constexpr bool kTabled = std::is_integral_v<T> && sizeof(T) <= 2;
template <class T>
std::size_t table_index(T v) {
  return static_cast<std::size_t>(static_cast<std::make_unsigned_t<T>>(v));
}

}  // namespace

std::map<double, int> read_class_table(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw Error(ExitCode::kInput,
                path + ": cannot read the table of classes: " + std::strerror(errno));
  std::map<double, int> classes;
  std::string line;
  for (int number_of_line = 1; std::getline(file, line); ++number_of_line) {
    const auto fail = [&](const std::string& why) {
      throw Error(ExitCode::kInput, path + ": line " + std::to_string(number_of_line) + ": " + why +
                                        ": write value,class on each line, or value,nodata");
    };
    line = line.substr(0, line.find('#'));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (line.empty()) continue;
    const std::size_t comma = line.find(',');
    char* end = nullptr;
    const double value = std::strtod(line.c_str(), &end);
    if (end == line.c_str() || comma == std::string::npos) {
      if (number_of_line == 1 && comma != std::string::npos) continue;  // a header
      fail("'" + line + "' is no pair of value and class");
    }
    const std::string name = line.substr(comma + 1);
    int code = 65535;
    if (!name.empty() && name != "nodata") {
      const long parsed = std::strtol(name.c_str(), &end, 10);
      if (end == name.c_str() || *end != '\0' || parsed < 0 || parsed > 65534)
        fail("class '" + name + "' is not 0..65534");
      code = static_cast<int>(parsed);
    }
    if (!classes.emplace(value, code).second) fail("value " + number(value) + " appears twice");
  }
  if (classes.empty()) throw Error(ExitCode::kInput, path + ": the table of classes is empty");
  return classes;
}

Quantiser::Quantiser(const Quantisation& how, const io::RasterInfo& info, int channel)
    : how_(how), info_(info), channel_(channel) {
  if (how.kind == Quantisation::Kind::kRange) {
    const std::string range = "the range " + number(how.low) + ":" + number(how.high);
    if (!(how.high > how.low)) {
      throw Error(ExitCode::kUsage, range + " is empty: give low:high");
    }
    if (!std::isfinite((how.high - how.low) * how.levels)) {
      throw Error(ExitCode::kUsage, range + " is too wide: its bins overflow");
    }
  }
  if (channel < 0 || channel >= info.channels) {
    throw Error(ExitCode::kUsage, "the image has " + std::to_string(info.channels) +
                                      " channels: --channel " + std::to_string(channel) +
                                      " is not one of 0.." + std::to_string(info.channels - 1));
  }
  if (how.nodata) how_.nodata = as_sample(info.type, *how.nodata);
  how_.classes.clear();
  for (const auto& [value, code] : how.classes) {
    how_.classes.emplace(as_sample(info.type, value), code);
  }
  with_type(info.type, nullptr, [&](const auto* p) {
    using T = std::remove_cv_t<std::remove_reference_t<decltype(*p)>>;
    if constexpr (kTabled<T>) {
      table_.resize(std::size_t{1} << (8 * sizeof(T)));
      for (std::size_t i = 0; i < table_.size(); ++i)
        table_[i] = code_of(static_cast<double>(static_cast<T>(i)));
    }
  });
}

int Quantiser::code_of(double value) const {
  if (std::isnan(value) || (how_.nodata && value == *how_.nodata)) return how_.levels;
  switch (how_.kind) {
    case Quantisation::Kind::kIdentity:
      return value >= 0 && value < how_.levels && value == std::floor(value)
                 ? static_cast<int>(value)
                 : -1;
    case Quantisation::Kind::kRange: {
      const double bin = std::floor((value - how_.low) * how_.levels / (how_.high - how_.low));
      return static_cast<int>(std::clamp(bin, 0.0, how_.levels - 1.0));
    }
    case Quantisation::Kind::kClasses: {
      const auto at = how_.classes.find(value);
      return at == how_.classes.end() ? -1 : std::min(at->second, how_.levels);
    }
  }
  return -1;
}

void Quantiser::refuse(double value, std::int64_t x, std::int64_t y) const {
  const std::string where =
      "pixel (" + std::to_string(x) + ", " + std::to_string(y) + ") holds " + number(value);
  if (how_.kind == Quantisation::Kind::kClasses) {
    throw Error(ExitCode::kInput,
                where + ", which the table of classes does not list: add it, or give --nodata");
  }
  throw Error(ExitCode::kInput, where + ", which is no class of " + std::to_string(how_.levels) +
                                    ": give --range low:high, --levels, --classes or --nodata");
}

template <class T>
void Quantiser::convert_row(const T* row, std::int64_t y, std::uint16_t* codes) const {
  const std::int64_t step = info_.channels;
  row += channel_;
  for (std::int64_t x = 0; x < info_.width; ++x) {
    int code;
    if constexpr (kTabled<T>) {
      code = table_[table_index(row[x * step])];
    } else {
      code = code_of(as_double(row[x * step]));
    }
    if (code < 0) refuse(as_double(row[x * step]), x, y);
    codes[x] = static_cast<std::uint16_t>(code);
  }
}

void Quantiser::convert(const void* row, std::int64_t y, std::uint16_t* codes) const {
  with_type(info_.type, row, [&](const auto* p) { convert_row(p, y, codes); });
}

ValueRange find_range(io::RasterReader& reader, int channel, std::optional<double> nodata,
                      double percent_low, double percent_high) {
  const io::RasterInfo& info = reader.info();
  if (nodata) nodata = as_sample(info.type, *nodata);
  constexpr std::int64_t kMostSamples = std::int64_t{1} << 22;
  const std::int64_t keep_every = info.width * info.height / kMostSamples + 1;
  std::vector<std::byte> row(static_cast<std::size_t>(info.row_bytes()));
  std::vector<double> samples;
  std::vector<std::uint64_t> histogram(65536);
  std::uint64_t total = 0;
  bool tabled = false, any = false;
  double least = 0, most = 0, table_low = 0;
  for (std::int64_t y = 0; y < info.height; ++y) {
    reader.read_rows(row.data(), 1);
    with_type(info.type, row.data(), [&](const auto* p) {
      using T = std::remove_cv_t<std::remove_reference_t<decltype(*p)>>;
      tabled = kTabled<T>;
      if constexpr (kTabled<T>) table_low = static_cast<double>(std::numeric_limits<T>::min());
      for (std::int64_t x = 0; x < info.width; ++x) {
        const double v = as_double(p[x * info.channels + channel]);
        if (!std::isfinite(v) || (nodata && v == *nodata)) continue;
        least = any ? std::min(least, v) : v;
        most = any ? std::max(most, v) : v;
        any = true;
        if (kTabled<T>) {
          ++histogram[static_cast<std::size_t>(v - table_low)];
          ++total;
        } else if ((y * info.width + x) % keep_every == 0) {
          samples.push_back(v);
        }
      }
    });
  }
  if (!any) throw Error(ExitCode::kInput, "no pixel holds a valid value: a range cannot be found");
  if (percent_low <= 0 && percent_high >= 100) return {least, most > least ? most : least + 1};
  const auto at = [&](double percent) {
    if (tabled) {
      const double rank = percent / 100 * static_cast<double>(total - 1);
      std::uint64_t below = 0;
      for (std::size_t i = 0; i < histogram.size(); ++i) {
        below += histogram[i];
        if (static_cast<double>(below) > rank) return table_low + static_cast<double>(i);
      }
    }
    if (samples.empty()) return percent < 50 ? least : most;
    const auto rank =
        static_cast<std::size_t>(percent / 100 * static_cast<double>(samples.size() - 1));
    std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(rank),
                     samples.end());
    return samples[rank];
  };
  const double low = at(percent_low), high = at(percent_high);
  return {low, high > low ? high : low + 1};
}

}  // namespace tilewave::field
