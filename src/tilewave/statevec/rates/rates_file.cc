#include "tilewave/statevec/rates/rates_file.h"

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

namespace {

// Where rates are looked for.
struct Place {
  fs::path path;          // empty: nowhere
  bool is_asked = false;  // by the user, so it has to be there
  bool is_file = false;   // for any device; otherwise a folder
};

Place place() {
  const std::string asked = variable("TILEWAVE_RATES");
  if (asked == "off") return {};
  std::error_code ignored;  // what cannot be looked at is said by who reads
  if (!asked.empty()) return {asked, true, !fs::is_directory(asked, ignored)};
  const fs::path costs = runtime::cost_file();
  return {costs.empty() ? fs::path{} : costs.parent_path() / "rates"};
}

std::string file_in(const Place& place, Kind kind, const std::string& device) {
  if (place.path.empty() || place.is_file) return place.path.string();
  return (place.path / (std::string(word_of(kind)) + "-" + slug(device) + ".json")).string();
}

}  // namespace

std::string place_of(Kind kind, const std::string& device) {
  return file_in(place(), kind, device);
}

namespace {

std::shared_ptr<const RatesFile> read(Kind kind, const std::string& device,
                                      std::span<const NumberInfo> list) {
  const Place where = place();
  const std::string path = file_in(where, kind, device);
  if (path.empty()) return nullptr;
  std::ifstream in(path);
  if (!in) {
    std::error_code error;  // of a folder that cannot be entered
    const bool is_there = fs::exists(path, error);
    if (where.is_file || is_there || (where.is_asked && error))
      throw Error(where.is_file ? ExitCode::kUsage : ExitCode::kInput,
                  path + ": cannot read this file of rates: write one with 'tilewave tune --out " +
                      path + "', or set TILEWAVE_RATES=off");
    return nullptr;
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  // one file that the user names is of one kind of device; the other kind has none then
  if (where.is_file) {
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
struct Known {
  std::optional<bool> may_find;
  std::map<std::string, std::shared_ptr<const RatesFile>> files;
};
Known& known() {
  static Known all;
  return all;
}

std::atomic<int> num_unknown{0};

}  // namespace

Unknown::Unknown() { ++num_unknown; }
Unknown::~Unknown() { --num_unknown; }

std::shared_ptr<const RatesFile> find(Kind kind, const std::string& device,
                                      std::span<const NumberInfo> list) {
  if (num_unknown > 0) return nullptr;
  const std::lock_guard lock(mutex());
  const std::string key = std::string(word_of(kind)) + "/" + device;
  auto& files = known().files;
  if (const auto at = files.find(key); at != files.end()) return at->second;
  return files[key] = read(kind, device, list);  // what is refused is refused again
}

bool may_find() {
  const std::lock_guard lock(mutex());
  std::optional<bool>& answer = known().may_find;
  if (!answer) {
    const Place where = place();
    std::error_code ignored;  // of a cache that cannot be entered
    answer = where.is_asked || (!where.path.empty() && fs::exists(where.path, ignored));
  }
  return *answer;
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
  known() = {};
}

}  // namespace tilewave::statevec::rates
