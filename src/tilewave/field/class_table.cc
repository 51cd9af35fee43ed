#include "tilewave/field/class_table.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>

#include "tilewave/base/error.h"
#include "tilewave/base/open_error.h"
#include "tilewave/base/read_double.h"

namespace tilewave::field {
namespace {

constexpr std::size_t kMostLineBytes = 4096;
constexpr int kMostClass = 65535;

// A line without its end; nothing at the end of the file.
std::optional<std::string> next_line(std::ifstream& file, bool& too_long) {
  std::string line;
  for (int c = file.get(); c != EOF; c = file.get()) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
    too_long = line.size() > kMostLineBytes;
    if (too_long) return line;
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

// Without spaces around it, and without the quotes of a CSV file.
std::string trimmed(std::string text) {
  const auto strip = [&text] {
    const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && is_space(text.back())) text.pop_back();
    while (!text.empty() && is_space(text.front())) text.erase(text.begin());
  };
  strip();
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
    strip();
  }
  return text;
}

// A class, or -1 for no data.
std::optional<int> to_class(const std::string& text) {
  if (text.empty() || text == "nodata") return -1;
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || value < 0 || value > kMostClass) return std::nullopt;
  return static_cast<int>(value);
}

}  // namespace

int ClassTable::index_of(int a_class) const {
  const auto at = std::lower_bound(classes.begin(), classes.end(), a_class);
  return at != classes.end() && *at == a_class ? static_cast<int>(at - classes.begin()) : -1;
}

ClassTable read_class_table(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    throw Error(code_of_open(error),
                path + ": cannot read the table of classes: " + std::strerror(error));
  }
  std::map<double, int> class_of;
  std::set<int> classes;
  bool too_long = false;
  for (int number = 1; auto read = next_line(file, too_long); ++number) {
    const auto fail = [&](const auto&... why) {
      tilewave::fail(ExitCode::kInput, path, ": line ", number, ": ", why...,
                     ": write value,class on each line, or value,nodata");
    };
    if (too_long) fail("it has more than ", kMostLineBytes, " bytes");
    std::string line = *read;
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
    line = line.substr(0, line.find('#'));
    if (trimmed(line).empty()) continue;
    const std::size_t comma = line.find(',');
    const std::string first = trimmed(line.substr(0, comma));
    const std::string second = comma == std::string::npos ? "" : trimmed(line.substr(comma + 1));
    const std::optional<double> value = whole_double(first);
    if (!value || comma == std::string::npos) {
      const bool words = std::any_of(first.begin(), first.end(),
                                     [](unsigned char c) { return std::isalpha(c) != 0; });
      const bool begins = !first.empty() && (std::isdigit(static_cast<unsigned char>(first[0])) ||
                                             std::strchr("+-.", first[0]) != nullptr);
      if (number == 1 && comma != std::string::npos && words && !begins) continue;  // a header
      fail(begins ? "'" + trimmed(line) + "' is no pair of value and class"
                  : "it is no pair of value and class");  // who knows whose file it is
    }
    if (std::isnan(*value)) fail("NaN is no data without being listed");
    const std::optional<int> a_class = to_class(second);
    if (!a_class) fail("class '", second, "' is not 0..", kMostClass);
    if (!class_of.emplace(*value, *a_class).second) fail("value ", first, " appears twice");
    if (*a_class >= 0) classes.insert(*a_class);
  }
  if (class_of.empty()) throw Error(ExitCode::kInput, path + ": the table of classes is empty");
  if (classes.empty())
    throw Error(ExitCode::kInput, path + ": the table of classes calls every value no data");
  ClassTable table;
  table.classes.assign(classes.begin(), classes.end());
  for (const auto& [value, a_class] : class_of)
    table.index.emplace(value, a_class < 0 ? -1 : table.index_of(a_class));
  return table;
}

}  // namespace tilewave::field
