// See include/tilewave/circuit.h.
#include "tilewave/circuit.h"
#include "tilewave/base/error.h"

#include <algorithm>
#include <utility>

#include "tilewave/api/access.h"
#include "tilewave/api/guard.h"
#include "tilewave/circuit/gate_table.h"
#include "tilewave/circuit/named_angles.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/text/source.h"

namespace tilewave {

namespace {

const circuit::GateInfo& find_named(std::string_view name) {
  for (const auto language : {circuit::Language::kQasm, circuit::Language::kTilewave}) {
    if (const circuit::GateInfo* info = circuit::find_gate(language, name)) return *info;
  }
  std::vector<std::string_view> known;
  for (const circuit::GateInfo& g : circuit::gate_table()) known.push_back(g.name);
  fail(ExitCode::kInput, "there is no gate '", name, "'", language::did_you_mean_gate(name, known));
}

language::Includes includes(bool allowed) {
  return allowed ? language::Includes::kAllowed : language::Includes::kRefused;
}

}  // namespace

Angle Angle::parameter(const std::string& name) {
  return guarded([&] {
    if (name.empty()) fail(ExitCode::kInput, "a parameter needs a name that is not empty");
    Angle angle;
    angle.terms_.emplace_back(name, 1);
    return angle;
  });
}

Angle& Angle::operator+=(const Angle& other) {
  guarded([&] {
    constant_ += other.constant_;
    for (const auto& [name, weight] : std::vector(other.terms_)) {  // may be this angle
      const auto same = std::ranges::find(terms_, name, [](const auto& t) { return t.first; });
      if (same == terms_.end()) {
        terms_.emplace_back(name, weight);
      } else {
        same->second += weight;
      }
    }
    std::erase_if(terms_, [](const auto& t) { return t.second == 0; });
  });
  return *this;
}

Angle& Angle::operator*=(double factor) {
  constant_ *= factor;
  for (auto& [name, weight] : terms_) weight *= factor;
  std::erase_if(terms_, [](const auto& t) { return t.second == 0; });
  return *this;
}

std::vector<Angle> parameters(const std::string& name, std::size_t count) {
  return guarded([&] {
    std::vector<Angle> all;
    for (std::size_t k = 0; k < count; ++k)
      all.push_back(Angle::parameter(name + "[" + std::to_string(k) + "]"));
    return all;
  });
}

Circuit::Circuit(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Circuit::Circuit(std::uint32_t num_qubits, std::uint32_t num_clbits)
    : data_(guarded([&] {
        return std::make_unique<Data>(Data{circuit::Circuit(num_qubits, num_clbits)});
      })) {}
Circuit::Circuit(const Circuit& other)
    : data_(guarded([&] { return std::make_unique<Data>(*other.data_); })) {}
Circuit::Circuit(Circuit&& other) noexcept = default;
Circuit& Circuit::operator=(const Circuit& other) {
  guarded([&] { data_ = std::make_unique<Data>(*other.data_); });
  return *this;
}
Circuit& Circuit::operator=(Circuit&& other) noexcept = default;
Circuit::~Circuit() = default;

Circuit Circuit::from_text(std::string_view text, bool include) {
  return guarded([&] {
    return Circuit(std::make_unique<Data>(Data{language::parse_circuit(
        text, "<text>", {}, nullptr, {includes(include), language::UnboundInputs::kParameters})}));
  });
}

Circuit Circuit::from_file(const std::string& path, bool include) {
  return guarded([&] {
    return Circuit(std::make_unique<Data>(Data{language::read_circuit_file(
        path, {}, nullptr, {includes(include), language::UnboundInputs::kParameters})}));
  });
}

std::uint32_t Circuit::num_qubits() const { return data_->circuit.num_qubits(); }
std::uint32_t Circuit::num_clbits() const { return data_->circuit.num_clbits(); }
std::size_t Circuit::num_operations() const { return data_->circuit.ops().size(); }

Circuit& Circuit::gate(std::string_view name, std::initializer_list<Qubit> qubits,
                       std::initializer_list<double> angles) {
  guarded([&] { data_->circuit.add_gate(find_named(name).id, qubits, angles); });
  return *this;
}

Circuit& Circuit::gate_of_angles(std::string_view name, const std::vector<Qubit>& qubits,
                                 const std::vector<Angle>& angles,
                                 const std::vector<Qubit>& controls) {
  guarded([&] {
    std::vector<circuit::NamedAngle> named;
    for (const Angle& a : angles) named.push_back({a.constant(), a.terms()});
    circuit::add_controlled_gate(data_->circuit, find_named(name).id, controls, ~std::uint64_t{0},
                                 qubits, named);
  });
  return *this;
}

std::vector<std::string> Circuit::parameters() const {
  return guarded([&] {
    const auto names = data_->circuit.parameters();
    return std::vector<std::string>(names.begin(), names.end());
  });
}

Circuit Circuit::bind(const std::vector<double>& values) const {
  return guarded(
      [&] { return Circuit(std::make_unique<Data>(Data{data_->circuit.bind(values)})); });
}

Circuit& Circuit::gate(std::string_view name, const std::vector<Qubit>& qubits,
                       const std::vector<double>& angles, const std::vector<Qubit>& controls) {
  guarded([&] {
    data_->circuit.add_controlled_gate(find_named(name).id, controls, ~std::uint64_t{0}, qubits,
                                       angles);
  });
  return *this;
}

Circuit& Circuit::matrix(const std::vector<std::complex<double>>& entries,
                         const std::vector<Qubit>& targets, const std::vector<Qubit>& controls) {
  guarded([&] { data_->circuit.add_matrix(controls, ~std::uint64_t{0}, targets, entries); });
  return *this;
}

Circuit& Circuit::measure(Qubit qubit, Clbit clbit) {
  guarded([&] { data_->circuit.add_measure(qubit, clbit); });
  return *this;
}

Circuit& Circuit::measure_all() {
  guarded([&] {
    circuit::Circuit& c = data_->circuit;
    runtime::need_host_bytes(
        c.num_qubits() * circuit::kMeasureBytes,
        concat("measurements of ", c.num_qubits(), " qubits do not fit memory"),
        "make a smaller circuit");
    if (c.num_clbits() < c.num_qubits()) c.add_clbits(c.num_qubits() - c.num_clbits());
    for (Qubit q = 0; q < c.num_qubits(); ++q) c.add_measure(q, q);
  });
  return *this;
}

Circuit& Circuit::reset(Qubit qubit) {
  guarded([&] { data_->circuit.add_reset(qubit); });
  return *this;
}

}  // namespace tilewave
