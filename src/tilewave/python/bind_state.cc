// A final state that stays and answers questions, one at a time. The interpreter is free while it
// does.
#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/base/saturating.h"
#include "tilewave/base/units.h"
#include "tilewave/language/text/source.h"
#include "tilewave/python/arguments-inl.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/python/terms-inl.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/checkpoint/saved_register.h"
#include "tilewave/simulate/make_state.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

class PyState {
 public:
  PyState() = default;
  PyState(const PyCircuit& circuit, const simulate::Options& options) {
    const auto shared = circuit.share();
    const nb::gil_scoped_release release;
    final_ = simulate::final_state(*shared, options);
    num_qubits_ = final_.qubits.num_qubits();
    device_ = options.device;
    num_threads_ = options.num_threads;
  }
  /// f(final state) without the interpreter lock.
  template <class F>
  auto ask(F f) {
    const nb::gil_scoped_release release;
    const std::scoped_lock lock(mutex_);
    if (!final_.state) {
      fail(ExitCode::kUsage, "the amplitudes were taken away: make a new State");
    }
    return f(final_);
  }

  /// Runs a unitary circuit of the same register on the state.
  void apply(const PyCircuit& circuit) {
    const auto shared = circuit.share();
    ask([&](simulate::FinalState& s) { apply_to(s, *shared); });
  }
  void apply_to(simulate::FinalState& s, const circuit::Circuit& circuit);
  Array<std::uint8_t> sample(std::uint64_t shots, const Seed& seed);

  /// A state of its own with the same content.
  explicit PyState(PyState& other) {
    other.ask([&](simulate::FinalState& s) { final_ = {s.state->clone(), s.qubits}; });
    num_qubits_ = other.num_qubits_;
    device_ = other.device_;
    num_threads_ = other.num_threads_;
  }

  nb::object take() {
    runtime::HostBuffer memory;
    statevec::Precision precision{};
    ask([&](simulate::FinalState& s) {
      precision = s.state->precision();
      memory = simulate::take_amplitudes(s);
      s.state.reset();
    });
    return amplitude_array(std::move(memory), precision, num_qubits_);
  }

  /// The state in a folder: written, and as it was read.
  void save(const std::string& folder);
  PyState(const std::string& folder, const std::string& device, int threads);

  nb::tuple snapshot();
  void restore(const nb::tuple& snapshot);

  std::uint32_t num_qubits() const { return num_qubits_; }
  std::uint64_t index_of(nb::handle item) const {
    std::uint64_t index = 0;
    const std::uint64_t last = low_mask(static_cast<int>(std::min(num_qubits_, 64u)));
    if (nb::try_cast(item, index) && index <= last) return index;
    fail(ExitCode::kUsage, "amplitude ", nb::str(item).c_str(), " does not exist: a state of ",
         counted(num_qubits_, "qubit"), " has indices 0 to ", last);
  }

 private:
  std::mutex mutex_;
  simulate::FinalState final_;
  std::uint32_t num_qubits_ = 0;
  DeviceSet device_ = DeviceSet::cpu();
  int num_threads_ = 0;
};

void PyState::apply_to(simulate::FinalState& s, const circuit::Circuit& circuit) {
  if (circuit.num_qubits() != num_qubits_) {
    fail(ExitCode::kUsage, "the state has ", counted(num_qubits_, "qubit"), " and the circuit ",
         circuit.num_qubits(), ": apply a circuit of as many");
  }
  if (!circuit.is_unitary()) {
    fail(ExitCode::kUsage,
         "a state takes gates only: the circuit measures, resets, has noise or is steered by "
         "classical bits (begin a run in this state with initial_state)");
  }
  if (!s.qubits.is_identity()) {  // qubits that no gate had touched come in
    const auto precision = s.state->precision();
    std::vector<cplx> amplitudes(std::size_t{1} << num_qubits_);
    simulate::copy_amplitudes(s, amplitudes);
    s.state.reset();
    s.qubits = simulate::QubitMap(num_qubits_);
    s.state = simulate::make_state(num_qubits_, precision, num_threads_, device_);
    s.state->set_amplitudes(amplitudes);
  }
  std::vector<circuit::Op> gates(circuit.ops().begin(), circuit.ops().end());
  std::erase_if(gates, [](const circuit::Op& op) { return op.kind == circuit::OpKind::kBarrier; });
  if (!gates.empty()) simulate::Session::of_process()->run(*s.state, circuit, gates);
}

Array<std::uint8_t> PyState::sample(std::uint64_t shots, const Seed& seed) {
  const std::size_t n = num_qubits_;
  // the numbers that are drawn stand beside the bits
  runtime::need_host_bytes(saturating_multiply(shots, n + sizeof(std::uint64_t) + sizeof(double)),
                           concat(shots, " shots of ", counted(n, "qubit"), " do not fit memory"),
                           "ask for fewer at a time");
  std::vector<std::uint8_t> bits(shots * n);
  ask([&](simulate::FinalState& s) {
    const auto drawn = statevec::sample(*s.state, shots, seed ? *seed : draw_seed());
    for (std::size_t j = 0; j < s.qubits.num_kept(); ++j) {
      const std::size_t qubit = s.qubits.in_register(static_cast<circuit::Qubit>(j));
      for (std::size_t shot = 0; shot < shots; ++shot)
        bits[shot * n + qubit] = drawn[shot] >> j & 1;
    }
  });
  return own_vector<std::uint8_t>(std::move(bits), {static_cast<std::size_t>(shots), n});
}

// num_qubits, qubits in the state (empty: all), precision, device, threads, amplitudes
nb::tuple PyState::snapshot() {
  std::vector<cplx> amplitudes;
  bool is_double = true;
  std::vector<circuit::Qubit> kept;
  ask([&](simulate::FinalState& s) {
    is_double = s.state->precision() == statevec::Precision::kDouble;
    kept.assign(s.qubits.kept().begin(), s.qubits.kept().end());
    amplitudes.reserve(s.state->num_amplitudes());
    s.state->for_each_block([&](std::uint64_t, std::span<const cplx> block) {
      amplitudes.insert(amplitudes.end(), block.begin(), block.end());
    });
  });
  return nb::make_tuple(num_qubits_, kept, is_double ? "double" : "single", device_.text(),
                        num_threads_, own_vector<std::complex<double>>(std::move(amplitudes)));
}

void PyState::restore(const nb::tuple& t) {
  num_qubits_ = nb::cast<std::uint32_t>(t[0]);
  const auto kept = nb::cast<std::vector<circuit::Qubit>>(t[1]);
  const auto precision = parse_precision(nb::cast<std::string>(t[2]));
  device_ = DeviceSet::parse(nb::cast<std::string>(t[3]));
  num_threads_ = nb::cast<int>(t[4]);
  const auto amplitudes = nb::cast<ConstArray<std::complex<double>>>(t[5]);
  const nb::gil_scoped_release release;
  final_.qubits = simulate::QubitMap(num_qubits_, kept);
  final_.state = simulate::make_state(final_.qubits.num_kept(), precision, num_threads_, device_);
  if (amplitudes.size() != final_.state->num_amplitudes()) {
    fail(ExitCode::kInput, "a state was stored with another number of amplitudes");
  }
  final_.state->set_amplitudes({amplitudes.data(), amplitudes.size()});
}

void PyState::save(const std::string& folder) {
  ask([&](simulate::FinalState& s) {
    const simulate::RegisterInfo info{
        num_qubits_, false, s.state->precision(), {s.qubits.kept().begin(), s.qubits.kept().end()}};
    simulate::save_register(folder, nullptr, info, *s.state);
  });
}

PyState::PyState(const std::string& folder, const std::string& device, int threads)
    : device_(DeviceSet::parse(device)), num_threads_(runtime::checked_num_threads(threads)) {
  const nb::gil_scoped_release release;
  const runtime::ThreadLimit limit(num_threads_);
  const simulate::SavedRegister saved(folder);
  const simulate::RegisterInfo& info = saved.info();
  if (info.is_density) {
    fail(ExitCode::kUsage, folder, " holds a density matrix of ", counted(info.num_qubits, "qubit"),
         ", not the state of a circuit: read it where it was kept");
  }
  num_qubits_ = info.num_qubits;
  final_.qubits = simulate::QubitMap(num_qubits_, info.kept);
  final_.state = simulate::make_state(info.state_qubits(), info.precision, num_threads_, device_);
  saved.load(*final_.state);
}

}  // namespace

void bind_state(nb::module_& m) {
  nb::class_<PyState> c(m, "State",
                        "The final state of a circuit (of one shot, when it measures in the "
                        "middle). Trailing measurements are left out.");
  c.def(
      "__init__",
      [](PyState* self, const PyCircuit& circuit, const std::string& precision,
         const std::string& device, int threads, const Seed& seed, const std::string& effort,
         const InitialState& initial) {
        new (self) PyState(circuit,
                           run_options(precision, device, threads, effort, seed, span_of(initial)));
      },
      "circuit"_a, "precision"_a = "double", "device"_a = "auto", "threads"_a = 0,
      "seed"_a = nb::none(), "effort"_a = "auto", "initial_state"_a = nb::none());
  c.def(
      "__init__", [](PyState* self, PyState& other) { new (self) PyState(other); }, "other"_a);
  c.def(
      "__init__",
      [](PyState* self, const std::string& folder, const std::string& device, int threads) {
        new (self) PyState(folder, device, threads);
      },
      "folder"_a, "device"_a, "threads"_a);
  c.def("_save", &PyState::save, "folder"_a);
  c.def("__getstate__", &PyState::snapshot);
  c.def("__setstate__", [](PyState* self, const nb::tuple& snapshot) {
    new (self) PyState();
    self->restore(snapshot);
  });
  c.def("__repr__", [](const PyState& self) {
    return "<tilewave.State: " + counted(self.num_qubits(), "qubit") + ">";
  });
  c.def_prop_ro("num_qubits", &PyState::num_qubits);
  c.def(
      "norm", [](PyState& self) { return self.ask([](auto& s) { return s.state->norm(); }); },
      "The sum of |amplitude|^2, as found.");
  c.def(
      "marginals",
      [](PyState& self) {
        return own_vector<double>(self.ask([](auto& s) { return s.qubits.marginals(*s.state); }));
      },
      "P(qubit = 1) of every qubit.");
  c.def(
      "probabilities",
      [](PyState& self, nb::handle qubits) {
        std::vector<circuit::Qubit> chosen;
        if (!qubits.is_none()) {
          chosen = qubits_of(qubits, self.num_qubits(), {"probabilities", "qubits"});
        } else {
          for (circuit::Qubit q = 0; q < self.num_qubits(); ++q) chosen.push_back(q);
        }
        statevec::check_joint_qubits(chosen);
        return own_vector<double>(
            self.ask([&](auto& s) { return s.qubits.joint_probabilities(*s.state, chosen); }));
      },
      "qubits"_a = nb::none(),
      nb::sig("def probabilities(self, qubits: collections.abc.Sequence[int] | "
              "NDArray[numpy.integer] | None = None) -> "
              "NDArray[numpy.float64]"),
      "Probabilities of the 2^k outcomes of chosen qubits (all of them when none are given); bit j "
      "of an outcome is qubits[j].");
  c.def(
      "amplitudes",
      [](PyState& self, nb::iterable given) {
        std::vector<std::uint64_t> indices;
        for (const nb::handle item : given) indices.push_back(self.index_of(item));
        return own_vector<std::complex<double>>(
            self.ask([&](auto& s) { return s.qubits.amplitudes(*s.state, indices); }));
      },
      "indices"_a,
      nb::sig("def amplitudes(self, indices: collections.abc.Sequence[int]) -> "
              "NDArray[numpy.complex128]"),
      "Amplitudes of chosen basis states.");
  c.def(
      "_expectations",
      [](PyState& self, const Terms& terms) {
        const circuit::WidePauliSum sum = to_sum(terms);
        return own_vector<double>(
            self.ask([&](auto& s) { return s.qubits.expectations(*s.state, sum); }));
      },
      "terms"_a);
  c.def("_apply", &PyState::apply, "circuit"_a);
  c.def("_sample", &PyState::sample, "shots"_a, "seed"_a);
  c.def("take", &PyState::take,
        "All amplitudes as an array over the state's own memory, without a copy. The state can "
        "then answer nothing more.");
}

}  // namespace tilewave::python
