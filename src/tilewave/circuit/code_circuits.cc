#include "tilewave/circuit/code_circuits.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::circuit {
namespace {

using Qubits = std::vector<std::uint32_t>;
using Place = std::pair<double, double>;  // ordered by x, then y

template <class... Parts>
[[noreturn]] void refuse(const Parts&... message) {
  fail(ExitCode::kUsage, message...);
}

// A circuit under construction with the noise of the options behind or before every operation.
class Noisy {
 public:
  explicit Noisy(const CodeOptions& options) : o_(options) {}
  StabilizerCircuit circuit;

  void gate1(std::string_view name, const Qubits& q) {
    circuit.append(name, q);
    noise("DEPOLARIZE1", o_.after_clifford_depolarization, q);
  }
  void cx(const Qubits& q) {
    circuit.append("CX", q);
    noise("DEPOLARIZE2", o_.after_clifford_depolarization, q);
  }
  void reset(char basis, const Qubits& q) {
    circuit.append(basis == 'Z' ? "R" : basis == 'X' ? "RX" : "RY", q);
    noise(basis == 'X' ? "Z_ERROR" : "X_ERROR", o_.after_reset_flip_probability, q);
  }
  void measure(char basis, const Qubits& q) {
    noise(basis == 'X' ? "Z_ERROR" : "X_ERROR", o_.before_measure_flip_probability, q);
    circuit.append(basis == 'Z' ? "M" : basis == 'X' ? "MX" : "MY", q);
  }
  void measure_reset(const Qubits& q) {
    noise("X_ERROR", o_.before_measure_flip_probability, q);
    circuit.append("MR", q);
    noise("X_ERROR", o_.after_reset_flip_probability, q);
  }
  void tick() { circuit.append("TICK", {}); }
  void begin_round(const Qubits& data) {
    tick();
    noise("DEPOLARIZE1", o_.before_round_data_depolarization, data);
  }
  void coords(std::uint32_t q, Place p) {
    circuit.append("QUBIT_COORDS", Qubits{q}, std::vector<double>{p.first, p.second});
  }
  void shift(std::vector<double> by) { circuit.append("SHIFT_COORDS", {}, by); }
  void detector(std::vector<double> at, std::vector<std::uint32_t> back) {
    records(StabKind::kDetector, std::move(back), at);
  }
  void observable(std::vector<std::uint32_t> back) {
    std::sort(back.begin(), back.end());
    records(StabKind::kObservableInclude, std::move(back), {0});
  }

 private:
  void records(StabKind kind, std::vector<std::uint32_t> back, const std::vector<double>& args) {
    std::vector<StabTarget> targets;
    for (std::uint32_t b : back) targets.push_back(record_target(b));
    circuit.append(kind, GateId::kId, targets, args);
  }
  void noise(std::string_view name, double p, const Qubits& q) {
    if (p > 0) circuit.append(name, q, std::vector<double>{p});
  }
  const CodeOptions& o_;
};

void append_all(StabilizerCircuit& to, const StabilizerCircuit& from) {
  for (const StabInstruction& op : from.instructions()) {
    to.append(op.kind, op.gate, from.targets(op), from.args(op));
  }
}
void append_times(StabilizerCircuit& to, StabilizerCircuit body, std::uint64_t times) {
  if (times == 1) append_all(to, body);
  if (times > 1) to.append_repeat(times, std::move(body));
}

// Qubits by place; data and measured ones in the order of their numbers.
struct Layout {
  std::map<Place, std::uint32_t> data, x_checks, z_checks;
  std::vector<Place> x_order, z_order;  // of the data qubits around a check
  std::map<Place, bool> on_observable;
};

Qubits numbers(std::initializer_list<const std::map<Place, std::uint32_t>*> maps) {
  Qubits out;
  for (const auto* m : maps) {
    for (const auto& [place, q] : *m) out.push_back(q);
  }
  std::sort(out.begin(), out.end());
  return out;
}

StabilizerCircuit surface(const Layout& l, bool memory_x, const CodeOptions& o) {
  const Qubits data = numbers({&l.data}), checks = numbers({&l.x_checks, &l.z_checks}),
               x_checks = numbers({&l.x_checks});
  const auto num_checks = static_cast<std::uint32_t>(checks.size()),
             num_data = static_cast<std::uint32_t>(data.size());
  const auto back = [](const Qubits& list, std::uint32_t q) {
    return static_cast<std::uint32_t>(list.end() - std::lower_bound(list.begin(), list.end(), q));
  };
  const auto cycle = [&](Noisy& c) {
    c.begin_round(data);
    c.gate1("H", x_checks);
    for (std::size_t k = 0; k < 4; ++k) {
      Qubits pairs;
      const auto neighbours = [&](const auto& map, Place by, bool check_first) {
        for (const auto& [p, q] : map) {
          const auto d = l.data.find({p.first + by.first, p.second + by.second});
          if (d == l.data.end()) continue;
          pairs.push_back(check_first ? q : d->second);
          pairs.push_back(check_first ? d->second : q);
        }
      };
      neighbours(l.x_checks, l.x_order[k], true);
      neighbours(l.z_checks, l.z_order[k], false);
      c.tick();
      c.cx(pairs);
    }
    c.tick();
    c.gate1("H", x_checks);
    c.tick();
    c.measure_reset(checks);
  };
  const auto& chosen = memory_x ? l.x_checks : l.z_checks;
  const auto& around = memory_x ? l.x_order : l.z_order;
  std::map<std::uint32_t, Place> places;
  for (const auto* m : {&l.data, &l.x_checks, &l.z_checks}) {
    for (const auto& [p, q] : *m) places[q] = p;
  }
  Noisy head(o), body(o), tail(o);
  for (const auto& [q, p] : places) head.coords(q, p);
  const char basis = memory_x ? 'X' : 'Z';
  head.reset(basis, data);
  head.reset('Z', checks);
  cycle(head);
  for (const auto& [p, q] : chosen) head.detector({p.first, p.second, 0}, {back(checks, q)});
  cycle(body);
  body.shift({0, 0, 1});
  for (std::uint32_t q : checks) {
    body.detector({places[q].first, places[q].second, 0},
                  {back(checks, q), back(checks, q) + num_checks});
  }
  tail.measure(basis, data);
  for (const auto& [p, q] : chosen) {
    std::vector<std::uint32_t> records;
    for (const Place& by : around) {
      const auto d = l.data.find({p.first + by.first, p.second + by.second});
      if (d != l.data.end()) records.push_back(back(data, d->second));
    }
    records.push_back(back(checks, q) + num_data);
    std::sort(records.begin(), records.end());
    tail.detector({p.first, p.second, 1}, records);
  }
  std::vector<std::uint32_t> observable;
  for (const auto& [p, on] : l.on_observable) {
    if (on) observable.push_back(back(data, l.data.at(p)));
  }
  tail.observable(observable);
  append_times(head.circuit, std::move(body.circuit), o.rounds - 1);
  append_all(head.circuit, tail.circuit);
  return std::move(head.circuit);
}

StabilizerCircuit rotated(bool memory_x, const CodeOptions& o) {
  Layout l;
  const std::uint32_t d = o.distance;
  const auto number = [&](std::uint32_t x, std::uint32_t y) {
    return x + (y - x % 2) * (2 * d + 1) / 2;
  };
  for (std::uint32_t x = 1; x < 2 * d; x += 2) {
    for (std::uint32_t y = 1; y < 2 * d; y += 2) {
      l.data[{x, y}] = number(x, y);
      l.on_observable[{x, y}] = (memory_x ? x : y) == 1;
    }
  }
  for (std::uint32_t x = 0; x <= 2 * d; x += 2) {
    for (std::uint32_t y = 0; y <= 2 * d; y += 2) {
      const bool odd = (x / 2) % 2 != (y / 2) % 2;
      if (((x == 0 || x == 2 * d) && odd) || ((y == 0 || y == 2 * d) && !odd)) continue;
      (odd ? l.x_checks : l.z_checks)[{x, y}] = number(x, y);
    }
  }
  l.x_order = {{1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
  l.z_order = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
  return surface(l, memory_x, o);
}

StabilizerCircuit unrotated(bool memory_x, const CodeOptions& o) {
  Layout l;
  const std::uint32_t side = 2 * o.distance - 1;
  for (std::uint32_t x = 0; x < side; ++x) {
    for (std::uint32_t y = 0; y < side; ++y) {
      const std::uint32_t q = x + y * side;
      if (x % 2 == y % 2) {
        l.data[{x, y}] = q;
        l.on_observable[{x, y}] = (memory_x ? x : y) == 0;
      } else {
        (x % 2 ? l.x_checks : l.z_checks)[{x, y}] = q;
      }
    }
  }
  l.x_order = l.z_order = {{1, 0}, {0, 1}, {0, -1}, {-1, 0}};
  return surface(l, memory_x, o);
}

StabilizerCircuit repetition(const CodeOptions& o) {
  const std::uint32_t d = o.distance, m = d - 1;
  Qubits all, data, checks, first, second;
  for (std::uint32_t q = 0; q < 2 * d - 1; ++q) {
    all.push_back(q);
    (q % 2 ? checks : data).push_back(q);
  }
  for (std::uint32_t q = 1; q < 2 * d - 1; q += 2) {
    first.insert(first.end(), {q - 1, q});
    second.insert(second.end(), {q + 1, q});
  }
  const auto cycle = [&](Noisy& c) {
    c.begin_round(data);
    c.cx(first);
    c.tick();
    c.cx(second);
    c.tick();
    c.measure_reset(checks);
  };
  Noisy head(o), body(o), tail(o);
  head.reset('Z', all);
  cycle(head);
  for (std::uint32_t k = 0; k < m; ++k) head.detector({2.0 * k + 1, 0}, {m - k});
  cycle(body);
  body.shift({0, 1});
  for (std::uint32_t k = 0; k < m; ++k) body.detector({2.0 * k + 1, 0}, {m - k, 2 * m - k});
  tail.measure('Z', data);
  for (std::uint32_t k = 0; k < m; ++k)
    tail.detector({2.0 * k + 1, 1}, {d - k - 1, d - k, d + m - k});
  tail.observable({1});
  append_times(head.circuit, std::move(body.circuit), o.rounds - 1);
  append_all(head.circuit, tail.circuit);
  return std::move(head.circuit);
}

StabilizerCircuit color(const CodeOptions& o) {
  const std::uint32_t d = o.distance, width = d + (d - 1) / 2;
  std::map<Place, std::uint32_t> data, checks;
  std::map<std::uint32_t, Place> places;
  std::uint32_t q = 0;
  for (std::uint32_t y = 0; y < width; ++y) {
    for (std::uint32_t x = 0; x < width - y; ++x, ++q) {
      const Place p{x + y / 2.0, y};
      places[q] = p;
      ((x + 2 * y) % 3 == 2 ? checks : data)[p] = q;
    }
  }
  const Qubits data_list = numbers({&data}), check_list = numbers({&checks}),
               all = numbers({&data, &checks});
  const auto num_data = static_cast<std::uint32_t>(data.size()),
             num_checks = static_cast<std::uint32_t>(checks.size());
  static constexpr Place kAround[6] = {{1, 0}, {0.5, 1}, {0.5, -1}, {-1, 0}, {-0.5, 1}, {-0.5, -1}};
  const auto cycle = [&](Noisy& c) {
    c.begin_round(data_list);
    c.gate1("C_XYZ", data_list);
    for (const Place& by : kAround) {
      Qubits pairs;
      for (const auto& [p, check] : checks) {
        const auto it = data.find({p.first + by.first, p.second + by.second});
        if (it != data.end()) pairs.insert(pairs.end(), {it->second, check});
      }
      c.tick();
      c.cx(pairs);
    }
    c.tick();
    c.measure_reset(check_list);
  };
  Noisy head(o), start(o), body(o), tail(o);
  for (const auto& [number, p] : places) head.coords(number, p);
  head.reset('Z', all);
  cycle(start);
  append_times(head.circuit, std::move(start.circuit), 2);
  cycle(body);
  body.shift({0, 0, 1});
  for (std::uint32_t k = 0; k < num_checks; ++k) {
    const Place p = places[check_list[k]];
    const std::uint32_t b = num_checks - k;
    head.detector({p.first, p.second, 0}, {b, b + num_checks});
    body.detector({p.first, p.second, 0}, {b, b + num_checks, b + 2 * num_checks});
  }
  tail.measure("ZXY"[o.rounds % 3], data_list);
  for (std::uint32_t k = 0; k < num_checks; ++k) {
    const Place p = places[check_list[k]];
    std::vector<std::uint32_t> records;
    for (const Place& by : kAround) {
      const auto it = data.find({p.first + by.first, p.second + by.second});
      if (it == data.end()) continue;
      records.push_back(static_cast<std::uint32_t>(
          data_list.end() - std::lower_bound(data_list.begin(), data_list.end(), it->second)));
    }
    // Of the three checks in a row that are known together, those that the final basis still needs.
    const std::uint32_t b = num_data + num_checks - k;
    if (o.rounds % 3 != 1) records.push_back(b);
    if (o.rounds % 3 != 0) records.push_back(b + num_checks);
    std::sort(records.begin(), records.end());
    tail.detector({p.first, p.second, 1}, records);
  }
  std::vector<std::uint32_t> observable;
  for (std::uint32_t k = 0; k < num_data; ++k) {
    if (places[data_list[k]].second == 0) observable.push_back(num_data - k);
  }
  tail.observable(observable);
  append_times(head.circuit, std::move(body.circuit), o.rounds - 2);
  append_all(head.circuit, tail.circuit);
  return std::move(head.circuit);
}

}  // namespace

StabilizerCircuit code_circuit(std::string_view code, std::string_view task, const CodeOptions& o) {
  if (o.rounds < 1) refuse("--rounds must be at least 1");
  if (o.distance < 2 || o.distance > 2047) refuse("--distance must be in 2 to 2047");
  if (code == "surface_code") {
    for (bool x : {false, true}) {
      if (task == (x ? "rotated_memory_x" : "rotated_memory_z")) return rotated(x, o);
      if (task == (x ? "unrotated_memory_x" : "unrotated_memory_z")) return unrotated(x, o);
    }
    refuse("surface_code has no task '", task,
           "': use rotated_memory_x, rotated_memory_z, unrotated_memory_x or unrotated_memory_z");
  }
  if (code == "repetition_code") {
    if (task == "memory") return repetition(o);
    refuse("repetition_code has no task '", task, "': use memory");
  }
  if (code == "color_code") {
    if (task != "memory_xyz") refuse("color_code has no task '", task, "': use memory_xyz");
    if (o.rounds < 2) refuse("color_code needs --rounds of at least 2");
    if (o.distance < 3 || o.distance % 2 == 0)
      refuse("color_code needs an odd --distance of at least 3");
    return color(o);
  }
  refuse("unknown code '", code, "': use surface_code, repetition_code or color_code");
}

}  // namespace tilewave::circuit
