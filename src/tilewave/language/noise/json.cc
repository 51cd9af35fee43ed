// JSON -> NoiseModel. Every check of a model stands here, where the error can name its place.
#include "tilewave/language/noise/json.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <set>
#include <span>

#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/language/noise/operations.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

using circuit::Channel;
using circuit::Matrix;
using nlohmann::json;

constexpr double kTolerance = 1e-8;  // of sums of probabilities and of K^dagger K

// A value and where it stands.
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

// ---- channels ----

constexpr std::string_view kRuleKeys[] = {"after",  "before",  "label",  "qubits",
                                          "except", "acts_on", "channel"};

void check_channel_keys(const Node& n, std::initializer_list<std::string_view> own) {
  n.check_keys(own, "numbers of this channel", kRuleKeys);
}

Matrix read_matrix(const Node& n, int* num_qubits) {
  const std::size_t dim = n.need_list("rows");
  int qubits = 0;
  while ((std::size_t{1} << qubits) < dim) ++qubits;
  if ((std::size_t{1} << qubits) != dim || qubits < 1 || qubits > circuit::kMaxChannelQubits) {
    n.fail("has ", counted(dim, "row"), ": a matrix on 1 to ", circuit::kMaxChannelQubits,
           " qubits has 2, 4, 8 or 16");
  }
  Matrix m;
  for (std::size_t i = 0; i < dim; ++i) {
    const Node row = n[i];
    if (row.need_list("numbers") != dim)
      row.fail("must have ", dim, " entries, not ", row.value.size());
    for (std::size_t j = 0; j < dim; ++j) {
      const Node x = row[j];
      if (x.value.is_array()) {
        if (x.value.size() != 2) x.fail("must be a number or [real, imaginary]");
        m.emplace_back(x[0].number(-INFINITY, INFINITY), x[1].number(-INFINITY, INFINITY));
      } else {
        m.emplace_back(x.number(-INFINITY, INFINITY), 0.0);
      }
    }
  }
  if (*num_qubits && *num_qubits != qubits)
    n.fail("acts on ", counted(static_cast<std::uint64_t>(qubits), "qubit"),
           ", those before it on ", *num_qubits);
  *num_qubits = qubits;
  return m;
}

// p, the probability of some error; or lambda: rho -> (1 - lambda) rho + lambda 1 / 2^m.
double depolarizing_p(const Node& n, int num_qubits) {
  check_channel_keys(n, {"p", "lambda"});
  if (n.has("p") == n.has("lambda")) n.fail("needs either \"p\" or \"lambda\"");
  if (n.has("p")) return n.at("p", "").probability();
  const double errors = std::pow(4.0, num_qubits) - 1;
  const Node lambda = n.at("lambda", "");
  return std::min(1.0, lambda.number(0, (errors + 1) / errors) * errors / (errors + 1));
}

Channel read_pauli(const Node& n) {
  check_channel_keys(n, {"probabilities"});
  const Node all = n.at("probabilities", "such as {\"X\": 0.01, \"Z\": 0.02}");
  if (!all.value.is_object() || all.value.empty())
    all.fail("must be an object of Pauli strings and their probabilities");
  std::vector<circuit::PauliProbability> errors;
  std::size_t size = 0;
  double sum = 0;
  for (const auto& [word, value] : all.value.items()) {
    const Node entry{value, all.path + "." + printable(word)};
    if (size && word.size() != size) {
      entry.fail("has ", counted(word.size(), "letter"), ", others have ", size);
    }
    size = word.size();
    if (size < 1 || size > static_cast<std::size_t>(circuit::kMaxChannelQubits)) {
      entry.fail("a Pauli string has 1 to ", circuit::kMaxChannelQubits, " letters");
    }
    circuit::PauliProbability e;
    for (auto c = word.rbegin(); c != word.rend(); ++c) {
      const std::size_t code = std::string_view("IXYZ").find(*c);
      if (code == std::string_view::npos) entry.fail("a Pauli string is made of I, X, Y and Z");
      e.letters.push_back(static_cast<int>(code));
    }
    e.p = entry.probability();
    sum += e.p;
    const bool identity = std::ranges::all_of(e.letters, [](int code) { return code == 0; });
    if (!identity) errors.push_back(std::move(e));
  }
  if (sum > 1 + kTolerance) all.fail("sum to ", nine_digits(sum), ": they may sum to at most 1");
  return circuit::pauli_channel(static_cast<int>(size), errors);
}

Channel read_relaxation(const Node& n) {
  check_channel_keys(n, {"t1", "t2", "time", "excited"});
  const Node t1 = n.at("t1", "the relaxation time"), t2 = n.at("t2", "the coherence time");
  const double a = t1.positive(), b = t2.positive();
  const double time = n.at("time", "how long it lasts").number(0, INFINITY);
  if (!std::isfinite(time)) n.at("time", "").fail("must be finite");
  if (b > 2 * a * (1 + 1e-12)) {
    t2.fail("is ", nine_digits(b), ": it can be at most twice t1, which is ", nine_digits(a));
  }
  const double excited = n.probability_of("excited");
  return circuit::thermal_relaxation(a, std::min(b, 2 * a), time, excited);
}

Channel read_reset(const Node& n) {
  check_channel_keys(n, {"p0", "p1"});
  if (!n.has("p0") && !n.has("p1")) n.fail("needs \"p0\" or \"p1\": probabilities of a reset");
  const double p0 = n.probability_of("p0"), p1 = n.probability_of("p1");
  if (p0 + p1 > 1 + kTolerance) n.fail("p0 and p1 sum to ", nine_digits(p0 + p1), ": at most 1");
  return circuit::reset_channel(p0, std::min(p1, 1 - p0));
}

Channel read_mixture(const Node& n) {
  check_channel_keys(n, {"unitaries"});
  const Node list = n.at("unitaries", "a list of {\"p\": ..., \"matrix\": ...}");
  const std::size_t count = list.need_list("objects");
  std::vector<double> p;
  std::vector<Matrix> u;
  int num_qubits = 0;
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Node entry = list[k];
    entry.need_object();
    entry.check_keys({"p", "matrix", "gate", "params"});
    p.push_back(entry.at("p", "its probability").probability());
    sum += p.back();
    if (entry.has("matrix") == entry.has("gate")) {
      entry.fail("needs either \"matrix\" or \"gate\"");
    }
    if (entry.has("gate")) {
      const Node name = entry.at("gate", "");
      const auto* gate = find_noise_gate(name.word());
      if (!gate) {
        std::vector<std::string_view> names;
        for (const circuit::GateInfo& g : circuit::gate_table()) names.push_back(g.name);
        name.fail("there is no gate '", name.word(), "'", did_you_mean(name.word(), names),
                  ": give the matrix of another");
      }
      const int arity = gate->num_controls + gate->num_targets;
      if (arity < 1 || arity > circuit::kMaxChannelQubits) {
        name.fail("gate '", name.word(), "' acts on ",
                  counted(static_cast<std::uint64_t>(arity), "qubit"), ": a channel acts on 1 to ",
                  circuit::kMaxChannelQubits);
      }
      std::vector<double> params;
      if (entry.has("params")) {
        const Node values = entry.at("params", "");
        for (std::size_t j = 0; j < values.need_list("numbers"); ++j) {
          params.push_back(values[j].number(-1e9, 1e9));
        }
      }
      if (static_cast<int>(params.size()) != gate->num_params) {
        entry.fail("gate '", name.word(), "' takes ",
                   counted(static_cast<std::uint64_t>(gate->num_params), "param"), ", not ",
                   params.size());
      }
      if (num_qubits && num_qubits != arity) {
        name.fail("acts on ", counted(static_cast<std::uint64_t>(arity), "qubit"),
                  ", those before it on ", num_qubits);
      }
      num_qubits = arity;
      // controls and targets in the order in which the gate is written, the first is bit 0
      circuit::Circuit alone(static_cast<std::uint32_t>(arity));
      std::vector<circuit::Qubit> wires(static_cast<std::size_t>(arity));
      std::iota(wires.begin(), wires.end(), 0);
      u.push_back(alone.whole_matrix(alone.add_gate(gate->id, wires, params)));
    } else {
      const Node matrix = entry.at("matrix", "");
      u.push_back(read_matrix(matrix, &num_qubits));
      const double d = circuit::distance_from_trace_preserving({u.back()});
      if (!(d <= kTolerance)) {
        matrix.fail("is not unitary: an entry of its product with its adjoint is ", nine_digits(d),
                    " off the identity");
      }
    }
  }
  if (std::abs(sum - 1) > kTolerance) {
    list.fail("have probabilities that sum to ", nine_digits(sum), ": they must sum to 1");
  }
  return circuit::unitary_mixture(num_qubits, p, u);
}

Channel read_kraus(const Node& n) {
  check_channel_keys(n, {"operators"});
  const Node list = n.at("operators", "a list of matrices");
  const std::size_t count = list.need_list("matrices");
  Channel c{"kraus", 0, {}};
  for (std::size_t k = 0; k < count; ++k) c.kraus.push_back(read_matrix(list[k], &c.num_qubits));
  const double d = circuit::distance_from_trace_preserving(c.kraus);
  if (!(d <= kTolerance)) {
    list.fail("do not preserve the trace: an entry of the sum of K^dagger K is ", nine_digits(d),
              " off the identity");
  }
  return c;
}

Channel one_pauli(const Node& n, int code) {
  check_channel_keys(n, {"p"});
  const circuit::PauliProbability error{{code}, n.at("p", "its probability").probability()};
  return circuit::pauli_channel(1, {&error, 1});
}

Channel damping(const Node& n, bool generalized) {
  if (generalized) {
    check_channel_keys(n, {"gamma", "excited"});
  } else {
    check_channel_keys(n, {"gamma"});
  }
  const double gamma = n.at("gamma", "the probability of decay").probability();
  return circuit::amplitude_damping(
      gamma, generalized ? n.at("excited", "the population of |1> at rest").probability() : 0);
}

struct ChannelReader {
  std::string_view name;
  Channel (*read)(const Node&);
};
constexpr ChannelReader kChannels[] = {
    {"depolarizing", [](const Node& n) { return circuit::depolarizing(1, depolarizing_p(n, 1)); }},
    {"depolarizing2", [](const Node& n) { return circuit::depolarizing(2, depolarizing_p(n, 2)); }},
    {"bit_flip", [](const Node& n) { return one_pauli(n, 1); }},
    {"bit_phase_flip", [](const Node& n) { return one_pauli(n, 2); }},
    {"phase_flip", [](const Node& n) { return one_pauli(n, 3); }},
    {"pauli", read_pauli},
    {"amplitude_damping", [](const Node& n) { return damping(n, false); }},
    {"generalized_amplitude_damping", [](const Node& n) { return damping(n, true); }},
    {"phase_damping",
     [](const Node& n) {
       check_channel_keys(n, {"lambda"});
       return circuit::phase_damping(n.at("lambda", "the strength").probability());
     }},
    {"thermal_relaxation", read_relaxation},
    {"reset", read_reset},
    {"unitary_mixture", read_mixture},
    {"kraus", read_kraus},
};

Channel read_channel(const Node& n) {
  const Node name = n.at("channel", "the name of a channel");
  const std::string word = name.word();
  std::vector<std::string_view> names;
  for (const ChannelReader& reader : kChannels) {
    if (reader.name == word) {
      Channel c = reader.read(n);
      c.name = word;
      return c;
    }
    names.push_back(reader.name);
  }
  name.fail("there is no channel '", word, "'", did_you_mean(word, names),
            " (channels: ", comma_list(names), ")");
}

// ---- rules ----

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
  rule.channel = std::make_shared<Channel>(read_channel(n));
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
