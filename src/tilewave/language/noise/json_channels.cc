// JSON -> Channel: the kinds of noise that a rule of a model names, with their numbers or matrices.
#include <numeric>

#include "tilewave/language/noise/json_node-inl.h"
#include "tilewave/language/noise/operations.h"

namespace tilewave::language::noise {
namespace {

using circuit::Channel;
using circuit::Matrix;

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

}  // namespace

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

}  // namespace tilewave::language::noise
