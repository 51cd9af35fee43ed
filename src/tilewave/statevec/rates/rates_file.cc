#include "tilewave/statevec/rates/rates_file.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cost_cache.h"

namespace tilewave::statevec::rates {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

constexpr const char* kFormat = "tilewave rates 1";
constexpr const char* kRemedy =
    ": run 'tilewave tune' again, or remove the file, or set TILEWAVE_RATES=off";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ExitCode::kInput, path + ": " + why + kRemedy);
}

// A word for a file's name: "NVIDIA H100 80GB HBM3" becomes nvidia_h100_80gb_hbm3.
std::string slug(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      out += static_cast<char>(std::tolower(byte));
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() ? "unknown" : out;
}

const char* word_of(Precision precision) {
  return precision == Precision::kDouble ? "double" : "single";
}

// What an environment variable says; empty where it is not set.
std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

struct ShippedText {
  const char* name;
  const char* text;
};
constexpr ShippedText kShippedTexts[] = {
#include "shipped_rates.inc"
};

}  // namespace

const char* word_of(Kind kind) { return kind == Kind::kCpu ? "cpu" : "cuda"; }

const Check* RatesFile::worst() const {
  const auto off = [](const Check& c) { return std::abs(std::log(c.ratio())); };
  const auto at = std::max_element(checks.begin(), checks.end(),
                                   [&](const Check& a, const Check& b) { return off(a) < off(b); });
  return at == checks.end() ? nullptr : &*at;
}

std::string RatesFile::origin() const { return device + ", " + date.substr(0, 10); }

std::string print(const RatesFile& file, std::span<const NumberInfo> list) {
  ordered_json out = {
      {"format", kFormat},       {"version", file.version}, {"kind", word_of(file.kind)},
      {"device", file.device},   {"machine", file.machine}, {"date", file.date},
      {"threads", file.threads}, {"seconds", file.seconds}, {"spread", file.spread},
      {"drift", file.drift},     {"forced", file.is_forced}};
  for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
    ordered_json& numbers = out["numbers"][word_of(precision)];
    for (std::size_t k = 0; k < list.size(); ++k) numbers[list[k].name] = file.of(precision)[k];
  }
  out["checks"] = ordered_json::array();
  for (const Check& c : file.checks) {
    out["checks"].push_back({{"circuit", c.circuit},
                             {"precision", word_of(c.precision)},
                             {"input", c.input},
                             {"predicted_s", c.predicted_s},
                             {"measured_s", c.measured_s},
                             {"spread", c.spread},
                             {"ratio", c.ratio()}});
  }
  return out.dump(1) + "\n";
}

RatesFile parse(std::string_view text, const std::string& path, std::span<const NumberInfo> list,
                bool is_shipped) {
  const ordered_json in = ordered_json::parse(text, nullptr, false);
  if (!in.is_object() || !in.contains("format") || !in["format"].is_string())
    refuse(path, "this is no file of rates, or a damaged one");
  const std::string format = in["format"];
  if (!format.starts_with("tilewave rates ")) refuse(path, "this is no file of rates");
  if (format != kFormat)
    refuse(path, "its format is \"" + format + "\", this program reads \"" + kFormat + "\"");
  RatesFile out;
  out.path = path;
  try {
    out.version = in.at("version");
    const std::string kind = in.at("kind");
    if (kind != "cpu" && kind != "cuda") refuse(path, "it is of a device of kind \"" + kind + "\"");
    out.kind = kind == "cpu" ? Kind::kCpu : Kind::kCuda;
    out.device = in.at("device");
    out.machine = in.at("machine");
    out.date = in.at("date");
    out.threads = in.at("threads");
    out.seconds = in.at("seconds");
    out.spread = in.at("spread");
    out.drift = in.at("drift");
    out.is_forced = in.at("forced");
    if (out.version != TW_VERSION && !is_shipped)
      refuse(path, "it was written by version " + out.version +
                       ", this is " TW_VERSION " (its numbers may mean something else)");
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      const ordered_json& numbers = in.at("numbers").at(word_of(precision));
      if (numbers.size() != list.size())
        refuse(path, "it has " + std::to_string(numbers.size()) + " numbers in " +
                         word_of(precision) + " precision, not " + std::to_string(list.size()));
      for (const NumberInfo& info : list) {
        const double x = numbers.at(info.name);
        if (!std::isfinite(x) || x < 0)
          refuse(path, std::string("\"") + info.name + "\" is no finite number from 0 on");
        out.of(precision).push_back(x);
      }
    }
    for (const ordered_json& c : in.at("checks")) {
      Check& check = out.checks.emplace_back();
      check.circuit = c.at("circuit");
      check.precision = c.at("precision") == "single" ? Precision::kSingle : Precision::kDouble;
      check.input = c.at("input");
      check.predicted_s = c.at("predicted_s");
      check.measured_s = c.at("measured_s");
      check.spread = c.at("spread");
      if (!(check.predicted_s > 0 && check.measured_s > 0))
        refuse(path, "a checked time is not positive");
    }
  } catch (const ordered_json::exception&) {
    refuse(path, "a value is missing or of another type, so it is damaged");
  }
  return out;
}

std::string place_of(Kind kind, const std::string& device) {
  const std::string name = std::string(word_of(kind)) + "-" + slug(device) + ".json";
  const std::string asked = variable("TILEWAVE_RATES");
  if (asked == "off") return {};
  if (!asked.empty()) return fs::is_directory(asked) ? (fs::path(asked) / name).string() : asked;
  const fs::path costs = runtime::cost_file();
  return costs.empty() ? std::string{} : (costs.parent_path() / "rates" / name).string();
}

namespace {

std::shared_ptr<const RatesFile> read(Kind kind, const std::string& device,
                                      std::span<const NumberInfo> list) {
  const std::string path = place_of(kind, device);
  if (path.empty()) return nullptr;
  std::ifstream in(path);
  const std::string asked = variable("TILEWAVE_RATES");
  const bool is_named = !asked.empty() && !fs::is_directory(asked);
  if (!in) {
    if (is_named || fs::exists(path))
      throw Error(is_named ? ExitCode::kUsage : ExitCode::kInput,
                  path + ": cannot read this file of rates: write one with 'tilewave tune --out " +
                      path + "', or set TILEWAVE_RATES=off");
    return nullptr;
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  // one file that the user names is of one kind of device; the other kind has none then
  if (is_named) {
    const ordered_json head = ordered_json::parse(text, nullptr, false);
    if (head.is_object() && head.contains("kind") && head["kind"].is_string() &&
        head["kind"] != word_of(kind) && (head["kind"] == "cpu" || head["kind"] == "cuda"))
      return nullptr;
  }
  RatesFile file = parse(text, path, list);
  if (file.kind != kind || file.device != device)
    refuse(path, "it is of \"" + file.device + "\", this is \"" + device + "\"");
  return std::make_shared<const RatesFile>(std::move(file));
}

std::mutex& mutex() {
  static std::mutex one;
  return one;
}
using Known = std::map<std::string, std::shared_ptr<const RatesFile>>;
Known& known() {
  static Known files;
  return files;
}

}  // namespace

namespace {
std::atomic<int> num_unknown{0};
}
Unknown::Unknown() { ++num_unknown; }
Unknown::~Unknown() { --num_unknown; }

std::shared_ptr<const RatesFile> find(Kind kind, const std::string& device,
                                      std::span<const NumberInfo> list) {
  if (num_unknown > 0) return nullptr;
  const std::lock_guard lock(mutex());
  const std::string key = std::string(word_of(kind)) + "/" + device;
  if (const auto at = known().find(key); at != known().end()) return at->second;
  return known()[key] = read(kind, device, list);  // what is refused is refused again
}

// All are of GPUs, whose list this is.
std::shared_ptr<const RatesFile> shipped(Kind kind, const std::string& device,
                                         std::span<const NumberInfo> list) {
  if (kind != Kind::kCuda) return nullptr;
  static const std::vector<std::shared_ptr<const RatesFile>> all = [&] {
    std::vector<std::shared_ptr<const RatesFile>> files;
    for (const ShippedText& one : kShippedTexts) {
      RatesFile file = parse(one.text, one.name, list, true);
      file.path.clear();
      files.push_back(std::make_shared<const RatesFile>(std::move(file)));
    }
    return files;
  }();
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& file) {
    return file->kind == kind && file->device == device;
  });
  return at == all.end() ? nullptr : *at;
}

void forget() {
  const std::lock_guard lock(mutex());
  known().clear();
}

}  // namespace tilewave::statevec::rates
