#include "tilewave/statevec/tile/emulator_test.h"

#include <cstring>

#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/apply.h"

namespace tilewave::statevec::tile {

namespace {

/// XOR of the columns of the 1 bits of `index`.
template <class I>
I columns(const I* column, std::uint32_t index, int count) {
  I sum = 0;
  for (int b = 0; b < count; ++b) sum ^= index >> b & 1 ? column[b] : 0;
  return sum;
}

template <int RB, class T>
class Emulator {
 public:
  using Amplitudes = Complex<T>[1 << RB];

  Emulator(const TilePass& pass, std::span<Complex<T>> state)
      : pass_(pass),
        f_(pass.frame),
        state_(state),
        threads_(pass.shape.num_threads()),
        bits_(pass.shape.thread_bits()),
        registers_(static_cast<std::size_t>(threads_)),
        address_(static_cast<std::size_t>(threads_)),
        shared_(sizeof(Complex<T>) << pass.shape.tile_qubits) {}

  void run() {
    for (std::uint64_t tile = 0; tile < f_.num_tiles; ++tile)
      run_tile(static_cast<std::uint32_t>(tile));
  }

 private:
  struct Registers {
    Amplitudes a;
  };
  Complex<T>& shared(std::uint32_t address) {
    return *reinterpret_cast<Complex<T>*>(shared_.data() + address);
  }

  Complex<T>& state(std::uint64_t offset) { return state_[offset / sizeof(Complex<T>)]; }

  void run_tile(std::uint32_t tile) {
    const std::uint64_t base = tile_offset(f_.runs, f_.num_runs, tile);
    for (int t = 0; t < threads_; ++t) {
      const auto thread = static_cast<std::uint32_t>(t);
      address_[t] = columns(f_.first_column + RB, thread, bits_);
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        const std::uint64_t at =
            base ^ columns(f_.load_column + RB, thread, bits_) ^ columns(f_.load_column, j, RB);
        registers_[t].a[j] = at & f_.zero_load ? Complex<T>{0, 0} : state(at);
      }
    }
    const std::byte* chunk = pass_.code.data();
    for (std::uint32_t c = 0; c < f_.num_chunks; ++c) {
      ChunkHead head;
      std::memcpy(&head, chunk, sizeof head);
      run_chunk(*reinterpret_cast<const ChunkHead*>(chunk), chunk + sizeof head, tile);
      chunk += static_cast<std::size_t>(head.size16) * 16;
    }
    TW_CHECK(chunk == pass_.code.data() + pass_.code.size(), "chunks do not fill the program");
    const Complex<T> s{static_cast<T>(f_.scale_re), static_cast<T>(f_.scale_im)};
    for (int t = 0; t < threads_; ++t) {
      if (f_.scale_kind == ScaleKind::kBits) scale_bits(t);
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        std::uint64_t at = (base ^ f_.store_xor ^
                            columns(f_.store_column + RB, static_cast<std::uint32_t>(t), bits_)) +
                           f_.store_add;
        for (int b = 0; b < RB; ++b) at += j >> b & 1 ? f_.store_column[b] : 0;
        if (!(at & f_.zero_store)) state(at) = registers_[t].a[j] * s;
      }
    }
  }

  void scale_bits(int thread) {
    T scale = 1;
    for (int b = 0; b < bits_; ++b) {
      if (thread >> b & 1) scale *= static_cast<T>(f_.bit_scale[RB + b]);
    }
    with_bit_scale<RB - 1, 0>(registers_[thread].a, scale, f_.bit_scale, [](Complex<T>& a, T s) {
      a = {a.re * s, a.im * s};
    });
  }

  void run_chunk(const ChunkHead& chunk, const std::byte* code, std::uint32_t tile) {
    const auto warps = static_cast<std::uint32_t>(pass_.shape.num_warps());
    const auto rows = static_cast<std::uint32_t>(1 + bits_);
    const std::byte* tables = pass_.tables.data();
    std::vector<Complex<T>> linear;
    for (std::uint32_t i = 0; i < chunk.num_linear * warps; ++i) {
      linear.push_back(linear_value<T>(chunk.tile_bits, chunk.linear_tables, tables, i / warps,
                                       i % warps, warps, tile));
    }
    std::vector<std::uint64_t> angles;
    for (std::uint32_t r = 0; r < chunk.num_general * rows; ++r) {
      angles.push_back(general_row(chunk, r, chunk.num_general * rows, tile));
      if (r % rows != 0) continue;
      const GeneralEntry& entry = table<GeneralEntry>(tables, chunk.general_entries)[r / rows];
      const auto* term = table<MixedTerm>(tables, entry.tile_first);
      for (std::uint32_t k = 0; k < entry.tile_count; ++k) {
        if ((tile & term[k].tile_mask) == term[k].tile_mask) angles.back() += term[k].turns;
      }
    }
    std::vector<Complex<T>> general(static_cast<std::size_t>(threads_));
    struct Alone {  // what threads do together is done below
      void exchange(const std::byte*) const {}
      void shared_matrix(const std::byte*, bool, std::uint32_t) const {}
      void make_general(std::uint32_t) const {}
      void next_chunk() const {}
    };
    for (;;) {
      const OpHead& stored = *reinterpret_cast<const OpHead*>(code);
      const OpWord head{stored.word};
      const std::byte* at = code;
      const std::byte* payload = code + sizeof stored;
      const auto& controls = *reinterpret_cast<const OpControls*>(payload);
      code += head.extent();
      if (head.code() == kEnd) return;
      if (head.code() == kExchange) {
        exchange(reinterpret_cast<const std::uint32_t*>(payload), tile);
      } else if (head.code() == kGeneral) {
        const std::uint32_t g = head.index();
        for (int t = 0; t < threads_; ++t) {
          general[static_cast<std::size_t>(t)] = general_factor<T>(
              table<GeneralEntry>(tables, chunk.general_entries)[g], angles.data() + g * rows,
              tables, static_cast<std::uint32_t>(t), bits_, tile);
        }
      } else if (head.code() == kMatrixShared) {
        shared_matrix(stored, controls,
                      *reinterpret_cast<const SharedMatrix*>(
                          payload + (head.controlled() ? sizeof controls : 0)),
                      tile);
      } else {
        for (int t = 0; t < threads_; ++t) {
          const PhaseContext<T> context{linear.data(), general.data(),
                                        static_cast<std::uint32_t>(t), bits_};
          apply_op<RB, OpSet::kAll, T>(registers_[t].a, head.at(0), at, context, tile, Alone{});
        }
      }
    }
  }

  void exchange(const std::uint32_t* column, std::uint32_t tile) {
    const std::uint32_t shift = exchange_shift(column + 2 * RB + bits_, tile);
    for (int t = 0; t < threads_; ++t) {
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        shared(address_[t] ^ columns(column, j, RB)) = registers_[t].a[j];
      }
    }
    for (int t = 0; t < threads_; ++t) {
      address_[t] = columns(column + 2 * RB, static_cast<std::uint32_t>(t), bits_) ^ shift;
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        registers_[t].a[j] = shared(address_[t] ^ columns(column + RB, j, RB));
      }
    }
  }

  void shared_matrix(const OpHead& head, const OpControls& controls, const SharedMatrix& m,
                     std::uint32_t tile) {
    for (int t = 0; t < threads_; ++t) {
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        shared(address_[t] ^ columns(m.register_column, j, RB)) = registers_[t].a[j];
      }
    }
    for (int t = 0; t < threads_; ++t) {
      if (!op_allowed(OpWord{head.word}, controls, static_cast<std::uint32_t>(t), tile)) continue;
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        if (!(head.pairs >> j & 1)) continue;
        std::uint32_t row, clear;
        shared_matrix_place(m, static_cast<std::uint32_t>(t), j, row, clear);
        const std::uint32_t base = address_[t] ^ columns(m.register_column, j, RB) ^ clear;
        registers_[t].a[j] =
            shared_matrix_row<T>(m, pass_.tables.data(), row, base, shared_.data());
      }
    }
  }

  const TilePass& pass_;
  const PassFrame& f_;
  std::span<Complex<T>> state_;
  int threads_, bits_;
  std::vector<Registers> registers_;
  std::vector<std::uint32_t> address_;
  std::vector<std::byte> shared_;
};

template <class T>
void emulate(const TilePass& pass, std::span<Complex<T>> state) {
  if (pass.shape.register_bits == 4) {
    Emulator<4, T>(pass, state).run();
  } else {
    TW_CHECK(pass.shape.register_bits == 5, "shapes have 4 or 5 register bits");
    Emulator<5, T>(pass, state).run();
  }
}

}  // namespace

void emulate_pass(const TilePass& pass, std::span<Complex<double>> amplitudes) {
  emulate(pass, amplitudes);
}
void emulate_pass(const TilePass& pass, std::span<Complex<float>> amplitudes) {
  emulate(pass, amplitudes);
}

}  // namespace tilewave::statevec::tile
