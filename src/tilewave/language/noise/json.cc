// JSON -> NoiseModel. Every check of a model stands here and in json_channels.cc, where the error can
// name its place.
#include "tilewave/language/noise/json.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tilewave/language/noise/json_node-inl.h"
#include "tilewave/language/noise/operations.h"

namespace tilewave::language {
namespace {

using noise::json;
using noise::kTolerance;
using noise::Node;

circuit::NoisePlaces read_qubits(const Node& n) {
  circuit::NoisePlaces places;
  if (n.value.is_string() && n.value == "all") return places;
  const std::size_t count = n.need_list("qubits such as [0, 2] or of lists such as [[0, 1]]");
  for (std::size_t k = 0; k < count; ++k) {
    const Node entry = n[k];
    if (!entry.value.is_array()) {
      places.qubits.push_back(entry.index(~std::uint32_t{0} - 1));
      continue;
    }
    std::vector<circuit::Qubit>& list = places.operations.emplace_back();
    for (std::size_t j = 0; j < entry.need_list("qubits"); ++j) {
      list.push_back(entry[j].index(~std::uint32_t{0} - 1));
      if (std::count(list.begin(), list.end(), list.back()) > 1) entry[j].fail("is named twice");
    }
  }
  return places;
}

void read_operation(const Node& n, circuit::NoiseRule& rule) {
  const std::string problem = add_operation(n.word(), rule);
  if (!problem.empty()) n.fail(problem);
}

circuit::NoiseRule read_rule(const Node& n) {
  n.need_object();
  circuit::NoiseRule rule;
  rule.path = n.path;
  rule.channel = std::make_shared<circuit::Channel>(noise::read_channel(n));
  if (n.has("after") == n.has("before")) {
    n.fail(
        "needs either \"after\" or \"before\": a gate, a list of gates, all, measure, reset, "
        "unitary, delay or idle");
  }
  rule.before = n.has("before");
  if (n.has("label")) {
    const Node label = n.at("label", "");
    rule.label = label.word();
    if (rule.label.empty()) label.fail("is empty: name a label, or leave it out");
    const auto* gate = circuit::find_gate(circuit::Language::kTilewave, rule.label);
    if (gate) rule.label_gate = gate->id;
  }
  if (n.has("qubits")) rule.places = read_qubits(n.at("qubits", ""));
  if (n.has("except")) rule.except = read_qubits(n.at("except", ""));
  if (n.has("acts_on")) {
    const Node list = n.at("acts_on", "");
    for (std::size_t k = 0; k < list.need_list("positions"); ++k) {
      rule.acts_on.push_back(static_cast<int>(list[k].index(63)));
    }
    const int count = static_cast<int>(rule.acts_on.size());
    if (rule.channel->num_qubits != 1 && count != rule.channel->num_qubits) {
      list.fail("names ", counted(static_cast<std::uint64_t>(count), "qubit"), ", channel '",
                rule.channel->name, "' acts on ", rule.channel->num_qubits);
    }
  }
  const Node where = n.at(rule.before ? "before" : "after", "");
  if (where.value.is_array()) {
    for (std::size_t k = 0; k < where.need_list("operations"); ++k) read_operation(where[k], rule);
  } else {
    read_operation(where, rule);
  }
  for (const char* key : {"qubits", "except"}) {
    const circuit::NoisePlaces& places = key[0] == 'q' ? rule.places : rule.except;
    if (rule.channel->num_qubits == 1 || places.qubits.empty()) continue;
    n.at(key, "").fail("a channel on several qubits needs lists of qubits such as [[0, 1]]: qubit ",
                       places.qubits[0], " stands alone");
  }
  return rule;
}

circuit::ReadoutRule read_readout(const Node& n) {
  n.need_object();
  n.check_keys({"qubits", "p1_given_0", "p0_given_1", "matrix"});
  circuit::ReadoutRule rule;
  rule.path = n.path;
  if (n.has("qubits") && n.value["qubits"] != "all") {
    const Node list = n.at("qubits", "");
    for (std::size_t k = 0; k < list.need_list("qubits"); ++k)
      rule.qubits.push_back(list[k].index(~std::uint32_t{0} - 1));
  }
  if (n.has("matrix")) {
    if (n.has("p1_given_0") || n.has("p0_given_1")) n.fail("give the matrix or its two numbers");
    const Node m = n.at("matrix", "");
    if (m.need_list("rows") != 2) m.fail("must have 2 rows: what 0 is read as, what 1 is read as");
    double p[2][2];
    for (std::size_t i = 0; i < 2; ++i) {
      if (m[i].need_list("numbers") != 2) m[i].fail("must have 2 entries: P(read 0), P(read 1)");
      for (std::size_t j = 0; j < 2; ++j) p[i][j] = m[i][j].probability();
      if (std::abs(p[i][0] + p[i][1] - 1) > kTolerance)
        m[i].fail("sums to ", nine_digits(p[i][0] + p[i][1]), ": it must sum to 1");
    }
    rule.error = {p[0][1], p[1][0]};
    return rule;
  }
  if (!n.has("p1_given_0") && !n.has("p0_given_1"))
    n.fail("needs \"p1_given_0\" and \"p0_given_1\", or \"matrix\"");
  rule.error.p1_given_0 = n.probability_of("p1_given_0");
  rule.error.p0_given_1 = n.probability_of("p0_given_1");
  return rule;
}

// The text as a tree. A key that an object has twice is an error: only one of them would count.
json parse_json(std::string_view text, const std::string& name) {
  constexpr int kMostDepth = 64;            // a model needs 8
  std::vector<std::set<std::string>> keys;  // of the objects under way
  return json::parse(text, [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMostDepth)
      Node{parsed, name}.fail("its brackets are nested more than ", kMostDepth,
                              " deep: is it a noise model?");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      Node{parsed, name}.fail("the key ", parsed.dump(), " stands twice in one object");
    }
    return true;
  });
}

}  // namespace

circuit::NoiseModel parse_noise_model(std::string_view text, const std::string& name) {
  TextSource source{name, text};
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (!name.starts_with('<') && first != std::string_view::npos && text[first] != '{')
    source.unlike = "a noise model in JSON";
  check_is_text(source);
  json root;
  try {
    root = parse_json(text, name);
  } catch (const json::parse_error& error) {
    const std::size_t at = std::min(error.byte ? error.byte - 1 : 0, text.size());
    fail_at(source, at, "this is no JSON");
  } catch (const json::out_of_range&) {
    throw Error(ExitCode::kInput, without_controls(name) + ": a number is too large for a double");
  }
  const Node top{root, name};
  top.need_object();
  constexpr std::string_view kKeys[] = {"channels", "readout", "absent_qubits"};
  const auto entries = root.items();
  if (!root.empty() && std::none_of(entries.begin(), entries.end(), [&](const auto& entry) {
        return contains(kKeys, entry.key()) || !nearest_name(entry.key(), kKeys).empty();
      }))
    top.fail("is no noise model: it has none of the keys channels, readout and absent_qubits");
  top.check_keys({"channels", "readout", "absent_qubits"});
  const auto inside = [&](const char* key) -> Node { return {root[key], name + ": " + key}; };
  circuit::NoiseModel model;
  if (root.contains("absent_qubits")) {
    const std::string word = inside("absent_qubits").word();
    model.ignores_absent = word == "ignore";
    if (word != "ignore" && word != "error")
      inside("absent_qubits").fail("is '", word, "': it must be \"error\" or \"ignore\"");
  }
  for (const char* key : {"channels", "readout"}) {
    if (!root.contains(key)) continue;
    const Node list = inside(key);
    if (!list.value.is_array()) list.fail("must be a list of objects");
    for (std::size_t k = 0; k < list.value.size(); ++k) {
      key[0] == 'c' ? model.rules.push_back(read_rule(list[k]))
                    : model.readout.push_back(read_readout(list[k]));
    }
  }
  return model;
}

circuit::NoiseModel read_noise_model(const std::string& path) {
  return parse_noise_model(read_text_file(path), path);
}

}  // namespace tilewave::language
