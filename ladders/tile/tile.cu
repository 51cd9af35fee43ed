// One pass of gates over a state vector: 2^n complex<double>, gates on twelve of its qubits (the
// low three and nine in the middle), from a launch a gate to a tile held in registers. All steps
// run the same gates. Index bits: a *slot* is one of the twelve active bits, lowest first.
//
// A gate is a 2x2 matrix on a target under at most one control. Bytes: steps 1 and 2 move the state
// (16 bytes x 2^n, read and written) once a gate, the others once. Multiply-adds of a general gate:
// 8 an amplitude.
#include <cub/device/device_reduce.cuh>

#include <complex>
#include <memory>
#include <random>

#include "common/ladder.cuh"
#include "tile/tile_kernels.cuh"

namespace {

using namespace tile_ladder;
using ladder::check;
using ladder::Device;
/// The gates in phases of four register slots; a phase takes every gate whose slots no gate put off
/// holds. The first and the last layout are that of the load: slots 8 to 11 in registers.
std::vector<RegisterOp> in_phases(const std::vector<Gate>& gates) {
  std::vector<RegisterOp> ops;
  std::vector<Gate> open = gates, later;
  unsigned registers = 0xf00u;
  int place[kSlots];  // register bit, or 16 + thread bit
  const auto exchange_to = [&](unsigned to) {
    RegisterOp op{};
    int r = 0, t = kRegisterBits;
    // lanes first that lie in different banks
    std::vector<int> threads;
    for (int bank = 0; bank < 3; ++bank)
      for (int s = 0; s < kSlots; ++s)
        if (!(to >> s & 1) && s % 3 == bank) {
          threads.push_back(s);
          break;
        }
    for (int s = 0; s < kSlots; ++s) {
      if (to >> s & 1) {
        op.slot[r++] = static_cast<unsigned char>(s);
      } else if (to == 0xf00u) {
        op.slot[t++] = static_cast<unsigned char>(s);  // as loaded and stored
      }
    }
    if (to != 0xf00u) {
      for (int s = 0; s < kSlots; ++s)
        if (!(to >> s & 1) && std::find(threads.begin(), threads.end(), s) == threads.end())
          threads.push_back(s);
      for (const int s : threads) op.slot[t++] = static_cast<unsigned char>(s);
    }
    for (int b = 0; b < kSlots; ++b)
      place[op.slot[b]] = b < kRegisterBits ? b : 16 + b - kRegisterBits;
    registers = to;
    op.kind = kExchange;
    return op;
  };
  (void)exchange_to(0xf00u);
  while (!open.empty()) {
    unsigned held = 0, chosen = 0;  // slots of gates put off; those for the registers
    for (const Gate& g : open) {
      const unsigned wants = 1u << g.target, all = wants | (g.control < 0 ? 0 : 1u << g.control);
      if (!(all & held) && ((chosen & wants) || __builtin_popcount(chosen) < kRegisterBits)) {
        chosen |= wants;
      } else {
        held |= all;
      }
    }
    for (int s = kSlots - 1; s >= 0 && __builtin_popcount(chosen) < kRegisterBits; --s)
      chosen |= 1u << s;
    if (chosen != registers) ops.push_back(exchange_to(chosen));
    held = 0;
    later.clear();
    for (const Gate& g : open) {
      const unsigned all = 1u << g.target | (g.control < 0 ? 0 : 1u << g.control);
      if ((all & held) || !(chosen >> g.target & 1)) {
        held |= all;
        later.push_back(g);
        continue;
      }
      RegisterOp op{};
      std::copy(g.m, g.m + 4, op.m);
      op.bit = static_cast<unsigned char>(place[g.target]);
      op.kind = g.kind == Kind::kGeneral                                 ? kGeneralOp
                : g.kind == Kind::kFlip                                  ? kSwapOp
                : g.kind == Kind::kHadamard || g.kind == Kind::kRotation ? kRealOp
                                                                         : kDiagonalOp;
      op.pairs = 0xffff;
      if (g.control >= 0) {
        const int c = place[g.control];
        if (c >= 16) op.thread_mask() = static_cast<unsigned char>(1u << (c - 16));
        for (int j = 0; c < 16 && j < 1 << kRegisterBits; ++j)
          if (!(j >> c & 1)) op.pairs = static_cast<unsigned short>(op.pairs & ~(1u << j));
      }
      ops.push_back(op);
    }
    open.swap(later);
  }
  if (registers != 0xf00u) ops.push_back(exchange_to(0xf00u));
  if (ops.size() > kMaxOps)
    throw std::runtime_error(std::to_string(ops.size()) + " operations, constant memory holds " +
                             std::to_string(kMaxOps) + ": use fewer --gates");
  return ops;
}

// ---- 6: the norm, by a library and fused ----

struct Square {
  __host__ __device__ double operator()(double2 a) const { return a.x * a.x + a.y * a.y; }
};
struct Add {
  __host__ __device__ double operator()(double a, double b) const { return a + b; }
};

// ---- the steps ----

std::vector<Gate> random_gates(int count) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> angle(0.2, 2.8);
  std::vector<Gate> gates;
  for (int k = 0; k < count; ++k) {
    Gate g{static_cast<Kind>(random() % kNumKinds), static_cast<int>(random() % kSlots), -1, {}};
    const double t = angle(random), p = angle(random), q = angle(random);
    cplx m[4] = {std::cos(t), -std::sin(t), std::sin(t), std::cos(t)};
    if (g.kind == Kind::kHadamard) {
      m[0] = m[1] = m[2] = std::sqrt(0.5), m[3] = -std::sqrt(0.5);
    } else if (g.kind == Kind::kFlip) {
      m[0] = m[3] = 0, m[1] = m[2] = 1;
    } else if (g.kind == Kind::kPhase || g.kind == Kind::kControlledPhase) {
      m[0] = 1, m[1] = m[2] = 0, m[3] = std::polar(1.0, p);
    } else if (g.kind == Kind::kGeneral) {
      m[1] *= std::polar(1.0, q), m[2] *= std::polar(1.0, p), m[3] *= std::polar(1.0, p + q);
    }
    if (g.kind == Kind::kFlip || g.kind == Kind::kControlledPhase)
      g.control = static_cast<int>((g.target + 1 + random() % (kSlots - 1)) % kSlots);
    for (int e = 0; e < 4; ++e) g.m[e] = {m[e].real(), m[e].imag()};
    gates.push_back(g);
  }
  return gates;
}

/// The definition, one gate after the other.
void reference(std::vector<double2>& state, const std::vector<Gate>& gates, int first) {
  const auto c = [](double2 z) { return cplx(z.x, z.y); };
  for (const Gate& g : gates) {
    const std::size_t target = std::size_t{1} << position_of(g.target, first);
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (i & target) continue;
      if (g.control >= 0 && !(i >> position_of(g.control, first) & 1)) continue;
      const cplx x = c(state[i]), y = c(state[i | target]);
      const cplx u = c(g.m[0]) * x + c(g.m[1]) * y, v = c(g.m[2]) * x + c(g.m[3]) * y;
      state[i] = {u.real(), u.imag()};
      state[i | target] = {v.real(), v.imag()};
    }
  }
}

__global__ void fill(double2* a, Index n, double size) {
  for (Index i = Index{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += Index{gridDim.x} * blockDim.x) {
    unsigned long long h = (i + 1) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 29;
    a[i] = {size * (static_cast<double>(h & 0xffff) / 65536 - 0.5),
            size * (static_cast<double>(h >> 16 & 0xffff) / 65536 - 0.5)};
  }
}

__global__ void scale(double2* a, Index n) {
  const Index i = Index{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) a[i] = {-a[i].x, -a[i].y};
}

/// A state, its gates, and every way to run them.
class Workshop {
 public:
  Workshop(int qubits, int first, const std::vector<Gate>& gates)
      : qubits_(qubits),
        first_(first),
        gates_(gates),
        ops_(in_phases(gates)),
        state_(std::size_t{1} << qubits),
        norms_(num_tiles()),
        norm_(1) {
    for (const Gate& g : gates)
      shared_.push_back({{g.m[0], g.m[1], g.m[2], g.m[3]}, g.target, g.control});
    for (const void* kernel : {reinterpret_cast<const void*>(shared_kernel),
                               reinterpret_cast<const void*>(register_kernel<false, false>),
                               reinterpret_cast<const void*>(register_kernel<true, false>),
                               reinterpret_cast<const void*>(register_kernel<true, true>)}) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTileBytes),
            "shared memory of a kernel");
    }
    std::size_t most = 0;
    check(cub::DeviceReduce::TransformReduce(nullptr, most, state_.get(), norm_.get(),
                                             static_cast<long long>(amplitudes()), Add{}, Square{},
                                             0.0),
          "asking the library");
    std::size_t tiles = 0;
    check(cub::DeviceReduce::Sum(nullptr, tiles, norms_.get(), norm_.get(),
                                 static_cast<long long>(num_tiles())),
          "asking the library");
    most = std::max(most, tiles);
    scratch_ = std::make_unique<Device<unsigned char>>(most);
    scratch_bytes_ = most;
    reset();
  }

  static constexpr int kTileBytes = 16 << kSlots;
  Index amplitudes() const { return Index{1} << qubits_; }
  unsigned num_tiles() const { return 1u << (qubits_ - kSlots); }
  const std::vector<RegisterOp>& ops() const { return ops_; }

  void reset() { fill<<<2048, 256>>>(state_.get(), amplitudes(), std::pow(2.0, -0.5 * qubits_)); }
  std::vector<double2> take() const { return state_.take(); }

  /// The least a pass can take.
  void move_only() {
    scale<<<static_cast<unsigned>(amplitudes() / 256), 256>>>(state_.get(), amplitudes());
  }
  void by_kind() {
    each_gate([](const Gate& g) { return kKindKernels[static_cast<int>(g.kind)]; });
  }
  void by_two() {
    each_gate(
        [](const Gate& g) { return g.control < 0 ? general_kernel<false> : general_kernel<true>; });
  }
  void in_shared() {
    remember(shared_);
    shared_kernel<<<num_tiles(), 512, kTileBytes>>>(state_.get(), first_,
                                                    static_cast<int>(gates_.size()));
  }
  template <bool Classes, bool Norms>
  void in_registers() {
    remember(ops_);
    register_kernel<Classes, Norms><<<num_tiles(), 1 << kThreadBits, kTileBytes>>>(
        state_.get(), first_, static_cast<int>(ops_.size()), norms_.get());
  }
  void library_norm() {
    check(cub::DeviceReduce::TransformReduce(scratch_->get(), scratch_bytes_, state_.get(),
                                             norm_.get(), static_cast<long long>(amplitudes()),
                                             Add{}, Square{}, 0.0),
          "the library's sum");
  }
  void sum_of_tiles() {
    std::size_t bytes = scratch_bytes_;
    check(cub::DeviceReduce::Sum(scratch_->get(), bytes, norms_.get(), norm_.get(),
                                 static_cast<long long>(num_tiles())),
          "the sum of the tiles");
  }
  double norm() const { return norm_.take()[0]; }

 private:
  template <class T>
  static void remember(const std::vector<T>& gates) {
    check(cudaMemcpyToSymbol(gate_memory, gates.data(), gates.size() * sizeof(T)), "copying gates");
  }
  template <class Choose>
  void each_gate(Choose&& choose) {
    const Index pairs = amplitudes() / 2;
    for (const Gate& g : gates_) {
      Matrix m;
      std::copy(g.m, g.m + 4, m.m);
      choose(g)<<<static_cast<unsigned>(pairs / 256), 256>>>(
          state_.get(), pairs, position_of(g.target, first_),
          g.control < 0 ? -1 : position_of(g.control, first_), m);
    }
  }

  int qubits_, first_;
  std::vector<Gate> gates_;
  std::vector<SharedGate> shared_;
  std::vector<RegisterOp> ops_;
  Device<double2> state_;
  Device<double> norms_, norm_;
  std::unique_ptr<Device<unsigned char>> scratch_;
  std::size_t scratch_bytes_ = 0;
};

struct Step {
  const char* name;
  void (Workshop::*run)();
  bool each_gate;
};
constexpr Step kSteps[] = {
    {"a launch a gate, a kernel a kind", &Workshop::by_kind, true},
    {"a launch a gate, two general kernels", &Workshop::by_two, true},
    {"tile in shared memory, gates in constant memory", &Workshop::in_shared, false},
    {"tile in registers, phases, general gates", &Workshop::in_registers<false, false>, false},
    {"tile in registers, phases, classes of gates", &Workshop::in_registers<true, false>, false}};

double verify(const std::vector<Gate>& gates, void (Workshop::*run)(), const char* name) {
  constexpr int kQubits = 17, kFirst = 6;
  Workshop w(kQubits, kFirst, gates);
  std::vector<double2> right = w.take();
  reference(right, gates, kFirst);
  (w.*run)();
  check(cudaDeviceSynchronize(), name);
  const std::vector<double2> got = w.take();
  double worst = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    worst = std::max({worst, std::abs(got[i].x - right[i].x), std::abs(got[i].y - right[i].y)});
  worst *= std::pow(2.0, 0.5 * kQubits);  // amplitudes near 1
  if (!(worst < 1e-12 * static_cast<double>(gates.size())))
    throw std::runtime_error(std::string(name) + " is wrong: error " + std::to_string(worst));
  return worst;
}

int run(int argc, char** argv) {
  long long qubits = 30, num_gates = 48, samples = 3;
  ladder::Arguments args(
      "One pass of gates on twelve qubits, from a launch a gate to register tiles.");
  args.flag("--size", &qubits, 16, 33, "qubits: 16 bytes x 2^qubits")
      .flag("--gates", &num_gates, 1, kMaxGates, "gates of the pass")
      .flag("--samples", &samples, 1, 100, "timings of a step");
  if (!args.parse(argc, argv)) return 0;
  std::printf("%s\n", ladder::machine().c_str());
  const std::vector<Gate> gates = random_gates(static_cast<int>(num_gates));
  const int first = static_cast<int>(qubits) / 2 - 4;
  std::vector<double> errors;
  for (const Step& s : kSteps) errors.push_back(verify(gates, s.run, s.name));
  verify(gates, &Workshop::in_registers<true, true>, "the fused norm");

  Workshop w(static_cast<int>(qubits), first, gates);
  long long exchanges = 0;
  for (const RegisterOp& op : w.ops()) exchanges += op.kind == kExchange;
  std::printf("%lld gates, %lld exchanges in registers\n", num_gates, exchanges);
  ladder::Report report("tile", {"step", "ms", "ms a gate", "x one pass", "error"});
  const double limit_ms = ladder::median_ms(static_cast<int>(samples), [&] { w.move_only(); });
  report.row({std::string("the state read and written, no gates"), limit_ms, 0.0, 1.0, 0.0});
  for (std::size_t k = 0; k < std::size(kSteps); ++k) {
    w.reset();
    const double ms = ladder::median_ms(static_cast<int>(samples), [&] { (w.*kSteps[k].run)(); });
    report.row({std::string(kSteps[k].name), ms, ms / static_cast<double>(num_gates), ms / limit_ms,
                errors[k]});
  }

  ladder::Report sums("norm", {"step", "ms", "more than the pass", "norm"});
  const auto time = [&](const char* name, auto body, double without) {
    w.reset();
    const double ms = ladder::median_ms(static_cast<int>(samples), body);
    const double norm = w.norm();
    sums.row({std::string(name), ms, ms - without, norm});
    return norm;
  };
  const double alone =
      ladder::median_ms(static_cast<int>(samples), [&] { w.in_registers<true, false>(); });
  const double by_library = time(
      "the pass, then the library's sum over the state",
      [&] {
        w.in_registers<true, false>();
        w.library_norm();
      },
      alone);
  const double fused = time(
      "the pass with a sum a tile, then the sum of the tiles",
      [&] {
        w.in_registers<true, true>();
        w.sum_of_tiles();
      },
      alone);
  if (!(std::abs(by_library - fused) < 1e-9 * by_library))
    throw std::runtime_error("the norms differ: " + std::to_string(by_library) + " and " +
                             std::to_string(fused));
  ladder::write_json(
      args.json,
      "ladder_tile --size " + std::to_string(qubits) + " --gates " + std::to_string(num_gates),
      {&report, &sums});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return ladder::guarded([&] { return run(argc, argv); });
}
