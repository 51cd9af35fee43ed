// See include/tilewave/function.h.
#include "tilewave/function.h"
#include "tilewave/base/error.h"

#include <cmath>
#include <utility>

#include "tilewave/api/access.h"
#include "tilewave/api/guard.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/base/saturating.h"
#include "tilewave/base/units.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/parametric/device_choice.h"
#include "tilewave/parametric/split_function.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/runtime/threads.h"
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
  // Room for an answer of `count` numbers for each row.
  template <class T>
  static std::vector<T> room(std::size_t sets, std::uint64_t count, const char* what) {
    const std::uint64_t size = saturating_multiply(sets, count);
    runtime::need_host_bytes(saturating_multiply(size, sizeof(T)),
                             concat(what, " of ", counted(sets, "row"), " do not fit memory"),
                             "ask for fewer at a time");
    return std::vector<T>(size);
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
  std::vector<circuit::PauliSum> sums;
  for (const std::string& text : observables) {
    circuit::PauliSum& sum = sums.emplace_back();
    for (const auto& term : language::parse_pauli_sum(
             text, "observable", circuit::PauliOrder::kLastIsQubit0, circuit.num_qubits()))
      sum.push_back(circuit::narrow(term));
  }
  parametric::FunctionOptions inside;
  inside.precision = options.precision;
  inside.num_threads = runtime::checked_num_threads(options.threads);
  auto ranks = options.ranks != Sharing::kNothing ? runtime::launched_ranks() : nullptr;
  const auto shared =
      options.ranks == Sharing::kState ? parametric::Shared::kState : parametric::Shared::kSets;
  const std::vector<int> devices =
      parametric::devices_for(device, circuit.num_qubits(), options.precision, ranks.get(),
                              shared == parametric::Shared::kState);
  return {Access::inside(circuit), sums, inside, devices, std::move(ranks), shared};
}

}  // namespace

Function::Function(const Circuit& circuit, const std::vector<std::string>& observables,
                   const FunctionOptions& options)
    : data_(guarded([&] {
        return std::make_unique<Data>(Data{make_function(circuit, observables, options)});
      })) {}
Function::Function(Function&&) noexcept = default;
Function& Function::operator=(Function&&) noexcept = default;
Function::~Function() = default;

std::uint32_t Function::num_qubits() const { return data_->function.num_qubits(); }
std::size_t Function::num_parameters() const { return data_->function.num_parameters(); }
std::size_t Function::num_observables() const { return data_->function.num_observables(); }
std::string Function::explain() const {
  return guarded([&] { return data_->function.explain(); });
}

std::vector<double> Function::expectations(const std::vector<double>& values) const {
  return guarded([&] {
    const std::size_t sets = data_->sets(values);
    auto out = Data::room<double>(sets, num_observables(), "expectations");
    data_->function.expectations({values.data(), sets}, out.data());
    return out;
  });
}

Function::ValueAndGradient Function::value_and_gradient(const std::vector<double>& values,
                                                        const std::vector<double>& weights) const {
  return guarded([&] {
    ValueAndGradient out;
    value_and_gradient(values, weights, out);
    return out;
  });
}

void Function::value_and_gradient(const std::vector<double>& values,
                                  const std::vector<double>& weights, ValueAndGradient& out) const {
  guarded([&] {
    const std::size_t sets = data_->sets(values), m = num_observables();
    if (!weights.empty()) Data::need(weights, m, "weights");
    std::vector<double> v(sets * m, 1.0), expectations(sets * m);
    for (std::size_t k = 0; k < v.size() && !weights.empty(); ++k) v[k] = weights[k % m];
    out.gradient.resize(sets * num_parameters());
    data_->function.vjp({values.data(), sets}, v.data(), expectations.data(), out.gradient.data());
    out.value.assign(sets, 0.0);
    for (std::size_t k = 0; k < v.size(); ++k) out.value[k / m] += v[k] * expectations[k];
  });
}

std::vector<double> Function::vjp(const std::vector<double>& values,
                                  const std::vector<double>& v) const {
  return guarded([&] {
    const std::size_t sets = data_->sets(values);
    Data::need(v, sets * num_observables(), "v");
    auto gradient = Data::room<double>(sets, num_parameters(), "derivatives");
    data_->function.vjp({values.data(), sets}, v.data(), nullptr, gradient.data());
    return gradient;
  });
}

std::vector<double> Function::jacobian(const std::vector<double>& values) const {
  return guarded([&] {
    const std::size_t sets = data_->sets(values), m = num_observables(), p = num_parameters();
    // a row of values and a unit vector for every row of the answer
    const std::uint64_t numbers = saturating_multiply(m, saturating_multiply(2, p) + m);
    runtime::need_host_bytes(
        saturating_multiply(sets, saturating_multiply(numbers, sizeof(double))),
        concat("Jacobians of ", counted(sets, "row"), " do not fit memory"),
        "ask for fewer at a time");
    std::vector<double> many, units(sets * m * m), rows(sets * m * p);
    many.reserve(rows.size());
    for (std::size_t b = 0; b < sets; ++b) {
      for (std::size_t k = 0; k < m; ++k) {
        many.insert(many.end(), values.begin() + static_cast<std::ptrdiff_t>(b * p),
                    values.begin() + static_cast<std::ptrdiff_t>((b + 1) * p));
        units[(b * m + k) * m + k] = 1;
      }
    }
    data_->function.vjp({many.data(), sets * m}, units.data(), nullptr, rows.data());
    return rows;
  });
}

std::vector<std::complex<double>> Function::states(const std::vector<double>& values) const {
  return guarded([&] {
    const std::size_t sets = data_->sets(values);
    auto out =
        Data::room<std::complex<double>>(sets, std::uint64_t{1} << num_qubits(), "amplitudes");
    data_->function.states({values.data(), sets}, out.data());
    return out;
  });
}

std::vector<double> Function::state_vjp(const std::vector<double>& values,
                                        const std::vector<std::complex<double>>& g) const {
  return guarded([&] {
    const std::size_t sets = data_->sets(values);
    Data::need(g, sets << num_qubits(), "g");
    auto gradient = Data::room<double>(sets, num_parameters(), "derivatives");
    data_->function.state_vjp({values.data(), sets}, g.data(), gradient.data());
    return gradient;
  });
}

std::vector<double> Function::metric_tensor(const std::vector<double>& values) const {
  return guarded([&] {
    const std::size_t sets = data_->sets(values), p = num_parameters();
    auto metric = Data::room<double>(sets, saturating_multiply(p, p), "metric tensors");
    data_->function.metric_tensor({values.data(), sets}, metric.data());
    return metric;
  });
}

std::vector<std::uint64_t> Function::sample(const std::vector<double>& values, std::uint64_t shots,
                                            std::optional<std::uint64_t> seed) const {
  return guarded([&] {
    const std::size_t sets = data_->sets(values);
    auto out = Data::room<std::uint64_t>(sets, shots, "samples");
    data_->function.samples({values.data(), sets}, shots, seed ? *seed : draw_seed(), out.data());
    return out;
  });
}

}  // namespace tilewave
