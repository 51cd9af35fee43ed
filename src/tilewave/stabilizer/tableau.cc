#include "tilewave/stabilizer/tableau.h"

#include <algorithm>
#include <bit>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/stabilizer/frame_step.h"

namespace tilewave::stabilizer {
namespace {

using circuit::Clifford1;
using circuit::Pauli;

// Products noted before they are done: 2 MiB of them, some gate layers of a large circuit.
constexpr std::size_t kMostProducts = std::size_t{1} << 18;
// Gates kept as such: 64 MiB of them.
constexpr std::size_t kMostGates = std::size_t{1} << 22;

// All products on one panel; adds the parity of z_to & x_by of each (a swap is a sign).
template <class Product>
[[gnu::always_inline]] inline void products_body(std::uint64_t* panel,
                                                 std::span<const Product> products,
                                                 std::uint8_t* signs) {
  typedef std::uint64_t Half __attribute__((vector_size(32)));
  for (std::size_t k = 0; k < products.size(); ++k) {
    auto* to = reinterpret_cast<Half*>(panel + products[k].to * Tableau::kPanelWords);
    const auto* by = reinterpret_cast<const Half*>(panel + products[k].by * Tableau::kPanelWords);
    const Half swaps = to[1] & by[0];
    to[0] ^= by[0];
    to[1] ^= by[1];
    signs[k] ^= static_cast<std::uint8_t>(std::popcount(swaps[0] ^ swaps[1] ^ swaps[2] ^ swaps[3]));
  }
}

}  // namespace

Tableau::Tableau(std::uint32_t num_qubits)
    : n_(num_qubits),
      panels_((std::size_t{num_qubits} + 255) / 256),
      place_(2 * std::size_t{num_qubits}),
      phase_(2 * std::size_t{num_qubits}) {
  for (std::uint32_t r = 0; r < place_.size(); ++r) place_[r] = r;
}

void Tableau::need_memory(std::size_t bytes) const {
  constexpr std::size_t kLarge = std::size_t{256} << 20;
  if (bytes <= kLarge) return;
  const std::uint64_t available = runtime::available_host_bytes();
  if (bytes <= available) return;
  fail_memory("a tableau of ", n_, " qubits takes ", bytes >> 20, " MiB of memory, ",
              available >> 20, " MiB are available: use fewer qubits");
}

void Tableau::make_rows() {
  bits_ = runtime::HostBuffer(std::max<std::size_t>(64, panels_ * 2 * n_ * kPanelWords * 8));
}

void Tableau::multiply(std::uint32_t to, std::uint32_t by) {
  if (products_.size() == kMostProducts) flush();
  products_.push_back({place_[to], place_[by]});
}

void Tableau::turn(std::uint32_t row, std::uint32_t by) {
  if (products_.empty()) {
    phase_[place_[row]] = (phase_[place_[row]] + by) & 3;
  } else {
    turns_.push_back({static_cast<std::uint32_t>(products_.size()), place_[row], by});
  }
}

void Tableau::flush() {
  if (products_.empty()) return;
  signs_.assign(products_.size(), 0);
  const std::span<const Product> all(products_);
  for (std::size_t p = 0; p < panels_; ++p)
    ForThisCpu<products_body<Product>>::call(panel(p), all, signs_.data());
  // The signs depend on their order.
  auto next = turns_.begin();
  for (std::uint32_t k = 0; k <= products_.size(); ++k) {
    for (; next != turns_.end() && next->after == k; ++next)
      phase_[next->row] = (phase_[next->row] + next->by) & 3;
    if (k == products_.size()) break;
    const Product& m = products_[k];
    phase_[m.to] = static_cast<std::uint8_t>((phase_[m.to] + phase_[m.by] + 2 * signs_[k]) & 3);
  }
  products_.clear();
  turns_.clear();
}

// A word of frame_ops.h: a row, or the product of two (`second` after `first`) with its i.
struct Row {
  Tableau* tableau;
  std::uint32_t first, second = kNone;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Row& operator^=(const Row& by) {
    tableau->multiply(first, by.first);
    if (by.second != kNone) {
      tableau->multiply(first, by.second);
      tableau->turn(first, 1);
    }
    return *this;
  }
  // x ^ z: the rows of Z and X make that of Y = i X Z.
  friend Row operator^(const Row& of_z, const Row& of_x) {
    return {of_x.tableau, of_x.first, of_z.first};
  }
  static void swap_names(Row& a, Row& b) {
    std::swap(a.tableau->place_[a.first], a.tableau->place_[b.first]);
  }
};
void exchange(Row& a, Row& b) { Row::swap_names(a, b); }

// Products find their signs by themselves. What is left: the gate's i's, of its inverse here.
struct RowPhase : NoPhase {
  void s(const Row&, const Row& of_x) const { of_x.tableau->turn(of_x.first, 3); }
  void v(const Row& of_z, const Row&) const { of_z.tableau->turn(of_z.first, 1); }
  void negate(bool x, bool z, const Row& of_z, const Row& of_x) const {
    if (x) of_x.tableau->turn(of_x.first, 2);
    if (z) of_z.tableau->turn(of_z.first, 2);
  }
};

// The new rows are U^dagger (G^dagger P G) U: the gate's action with x and z exchanged, as the row
// of Z_q has the Paulis of the start whose images anticommute with Z_q, those with x on q.
struct Tableau::RowMachine {
  Tableau* t;
  Row x(std::uint32_t q) const { return {t, 2 * q + 1}; }
  Row z(std::uint32_t q) const { return {t, 2 * q}; }

  template <Pauli A, Pauli B>
  void controlled(const TableauGate& g) const {
    Row ax = x(g.a), az = z(g.a), bx = x(g.b), bz = z(g.b);
    stabilizer::apply_controlled<A, B>(ax, az, bx, bz, RowPhase{});
  }
  void swap(const TableauGate& g) const {
    Row ax = x(g.a), az = z(g.a), bx = x(g.b), bz = z(g.b);
    exchange(ax, bx);
    exchange(az, bz);
  }
  void clifford1(const TableauGate& g) const {
    Row gx = x(g.a), gz = z(g.a);
    apply_clifford1(g.x_to, g.z_to, g.x_negative, g.z_negative, gx, gz, RowPhase{});
  }
};

void Tableau::add(const TableauGate& gate) {
  if (fresh_ && gates_.size() == kMostGates) settle();
  if (fresh_) {
    gates_.push_back(gate);
  } else {
    const RowMachine machine{this};
    tableau_step(machine, gate);
  }
}

void Tableau::settle() {
  if (!fresh_) return;
  fresh_ = false;
  need_memory(panels_ * 2 * n_ * kPanelWords * 8);
  make_rows();
  for (std::uint32_t q = 0; q < n_; ++q) {
    const std::size_t word = (q % 256) / 64;
    const std::uint64_t bit = std::uint64_t{1} << (q % 64);
    panel(q / 256)[2 * q * kPanelWords + word] = bit;
    panel(q / 256)[(2 * q + 1) * kPanelWords + 4 + word] = bit;
  }
  for (const TableauGate& gate : gates_) add(gate);
  gates_ = {};
}

void Tableau::swap(std::uint32_t a, std::uint32_t b) {
  add({TableauGate::Kind::kSwap, 0, {}, {}, false, false, a, b});
}

void Tableau::apply_pauli(Pauli p, std::uint32_t q) {
  add({TableauGate::Kind::kClifford1, 0, Pauli::kX, Pauli::kZ, p != Pauli::kX, p != Pauli::kZ, q});
}

void Tableau::apply(const Clifford1& c, std::uint32_t q) {
  add({TableauGate::Kind::kClifford1, 0, c.x, c.z, c.x_negative, c.z_negative, q});
}

void Tableau::apply_controlled(Pauli a, std::uint32_t qa, Pauli b, std::uint32_t qb) {
  const int sub = 3 * (static_cast<int>(a) - 1) + static_cast<int>(b) - 1;
  add({TableauGate::Kind::kControlled,
       static_cast<std::uint8_t>(sub),
       {},
       {},
       false,
       false,
       qa,
       qb});
}

bool Tableau::outcome_z(std::uint32_t q) {
  if (fresh_ && gates_.empty()) return false;
  settle();
  flush();
  const std::uint8_t phase = phase_[place_[2 * q + 1]];
  TW_CHECK((phase & 1) == 0, "the outcome is random");
  return phase == 2;
}

std::uint64_t Tableau::hash() {
  settle();
  flush();
  std::uint64_t h = 0x243F6A8885A308D3ull;
  for (std::size_t p = 0; p < panels_; ++p) {
    for (std::uint32_t place : place_) {
      const std::uint64_t* words = panel(p) + place * kPanelWords;
      for (std::size_t w = 0; w < kPanelWords; ++w) {
        h = (h ^ words[w]) * 0x9E3779B97F4A7C15ull;
        h ^= h >> 32;
      }
    }
  }
  for (std::uint32_t place : place_) h = (h ^ phase_[place]) * 0x9E3779B97F4A7C15ull;
  return h;
}

}  // namespace tilewave::stabilizer
