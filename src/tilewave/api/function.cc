// See include/tilewave/function.h.
#include "tilewave/function.h"
#include "tilewave/base/error.h"

#include <cmath>
#include <utility>

#include "tilewave/api/access.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/parametric/device_choice.h"
#include "tilewave/parametric/split_function.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/settings/device.h"

namespace tilewave {

struct Function::Data {
  parametric::SplitFunction function;

  // How many rows there are of `values`, with `size` in each.
  static std::size_t rows(std::size_t count, std::size_t size, const char* what) {
    if (size == 0 ? count == 0 : count % size == 0 && count > 0) return size ? count / size : 1;
    fail(ExitCode::kInput, count, " numbers are no rows of ", size, " ", what);
  }
  std::size_t sets(const std::vector<double>& values) const {
    return rows(values.size(), function.num_parameters(), "values of parameters");
  }
  template <class T>
  static void need(const std::vector<T>& given, std::size_t wanted, const char* what) {
    if (given.size() != wanted) {
      fail(ExitCode::kInput, what, ": got ", given.size(), " numbers, ", wanted, " are needed");
    }
    for (const T& x : given) {
      if (!std::isfinite(std::abs(x))) fail(ExitCode::kInput, what, ": a number is not finite");
    }
  }
};

namespace {

parametric::SplitFunction make_function(const Circuit& circuit,
                                        const std::vector<std::string>& observables,
                                        const FunctionOptions& options) {
  const DeviceSet device = DeviceSet::parse(options.device);
  if (options.threads < 0 || options.threads > 4096) {
    fail(ExitCode::kUsage, "threads = ", options.threads, ": use 0 (all) to 4096");
  }
  std::vector<circuit::PauliSum> sums;
  for (const std::string& text : observables) {
    circuit::PauliSum& sum = sums.emplace_back();
    for (const auto& term : language::parse_pauli_sum(
             text, "observable", circuit::PauliOrder::kLastIsQubit0, circuit.num_qubits()))
      sum.push_back(circuit::narrow(term));
  }
  parametric::FunctionOptions inside;
  inside.precision = options.precision;
  inside.num_threads = options.threads;
  auto ranks = options.ranks != Sharing::kNothing ? runtime::launched_ranks() : nullptr;
  const auto shared =
      options.ranks == Sharing::kState ? parametric::Shared::kState : parametric::Shared::kSets;
  const std::vector<int> devices =
      parametric::devices_for(device, circuit.num_qubits(), options.precision, ranks.get());
  return {Access::inside(circuit), sums, inside, devices, std::move(ranks), shared};
}

}  // namespace

Function::Function(const Circuit& circuit, const std::vector<std::string>& observables,
                   const FunctionOptions& options)
    : data_(new Data{make_function(circuit, observables, options)}) {}
Function::Function(Function&&) noexcept = default;
Function& Function::operator=(Function&&) noexcept = default;
Function::~Function() = default;

std::uint32_t Function::num_qubits() const { return data_->function.num_qubits(); }
std::size_t Function::num_parameters() const { return data_->function.num_parameters(); }
std::size_t Function::num_observables() const { return data_->function.num_observables(); }
std::string Function::explain() const { return data_->function.explain(); }

std::vector<double> Function::expectations(const std::vector<double>& values) const {
  const std::size_t sets = data_->sets(values);
  std::vector<double> out(sets * num_observables());
  data_->function.expectations({values.data(), sets}, out.data());
  return out;
}

Function::ValueAndGradient Function::value_and_gradient(const std::vector<double>& values,
                                                        const std::vector<double>& weights) const {
  ValueAndGradient out;
  value_and_gradient(values, weights, out);
  return out;
}

void Function::value_and_gradient(const std::vector<double>& values,
                                  const std::vector<double>& weights, ValueAndGradient& out) const {
  const std::size_t sets = data_->sets(values), m = num_observables();
  if (!weights.empty()) Data::need(weights, m, "weights");
  std::vector<double> v(sets * m, 1.0), expectations(sets * m);
  for (std::size_t k = 0; k < v.size() && !weights.empty(); ++k) v[k] = weights[k % m];
  out.gradient.resize(sets * num_parameters());
  data_->function.vjp({values.data(), sets}, v.data(), expectations.data(), out.gradient.data());
  out.value.assign(sets, 0.0);
  for (std::size_t k = 0; k < v.size(); ++k) out.value[k / m] += v[k] * expectations[k];
}

std::vector<double> Function::vjp(const std::vector<double>& values,
                                  const std::vector<double>& v) const {
  const std::size_t sets = data_->sets(values);
  Data::need(v, sets * num_observables(), "v");
  std::vector<double> gradient(sets * num_parameters());
  data_->function.vjp({values.data(), sets}, v.data(), nullptr, gradient.data());
  return gradient;
}

std::vector<double> Function::jacobian(const std::vector<double>& values) const {
  const std::size_t sets = data_->sets(values), m = num_observables(), p = num_parameters();
  std::vector<double> many, units(sets * m * m);
  for (std::size_t b = 0; b < sets; ++b) {
    for (std::size_t k = 0; k < m; ++k) {
      many.insert(many.end(), values.begin() + static_cast<std::ptrdiff_t>(b * p),
                  values.begin() + static_cast<std::ptrdiff_t>((b + 1) * p));
      units[(b * m + k) * m + k] = 1;
    }
  }
  std::vector<double> rows(sets * m * p);
  data_->function.vjp({many.data(), sets * m}, units.data(), nullptr, rows.data());
  return rows;
}

std::vector<std::complex<double>> Function::states(const std::vector<double>& values) const {
  const std::size_t sets = data_->sets(values);
  std::vector<std::complex<double>> out(sets << num_qubits());
  data_->function.states({values.data(), sets}, out.data());
  return out;
}

std::vector<double> Function::state_vjp(const std::vector<double>& values,
                                        const std::vector<std::complex<double>>& g) const {
  const std::size_t sets = data_->sets(values);
  Data::need(g, sets << num_qubits(), "g");
  std::vector<double> gradient(sets * num_parameters());
  data_->function.state_vjp({values.data(), sets}, g.data(), gradient.data());
  return gradient;
}

std::vector<double> Function::metric_tensor(const std::vector<double>& values) const {
  const std::size_t sets = data_->sets(values), p = num_parameters();
  std::vector<double> metric(sets * p * p);
  data_->function.metric_tensor({values.data(), sets}, metric.data());
  return metric;
}

std::vector<std::uint64_t> Function::sample(const std::vector<double>& values, std::uint64_t shots,
                                            std::optional<std::uint64_t> seed) const {
  const std::size_t sets = data_->sets(values);
  std::vector<std::uint64_t> out(sets * shots);
  data_->function.samples({values.data(), sets}, shots, seed ? *seed : draw_seed(), out.data());
  return out;
}

}  // namespace tilewave
