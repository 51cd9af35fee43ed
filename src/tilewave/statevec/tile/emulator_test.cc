#include "tilewave/statevec/tile/emulator_test.h"

#include <cstring>
#include <utility>
#include <vector>

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
        bits_(pass.shape.thread_bits()) {
    for (int b = 0; b < 1 << pass.shape.block_bits; ++b) blocks_.emplace_back(pass.shape);
  }

  void run() {
    for (std::uint64_t tile = 0; tile < f_.num_tiles; tile += blocks_.size())
      run_tile(static_cast<std::uint32_t>(tile));
  }

 private:
  struct Registers {
    Amplitudes a;
  };
  /// A block of threads, of one or two that work on a tile.
  struct Block {
    explicit Block(const Shape& shape)
        : registers(static_cast<std::size_t>(shape.num_threads())),
          address(static_cast<std::size_t>(shape.num_threads())),
          memory(sizeof(Complex<T>) << shape.block_qubits()),
          general(static_cast<std::size_t>(shape.num_threads())) {}
    Complex<T>& shared(std::uint32_t at) { return *reinterpret_cast<Complex<T>*>(&memory.at(at)); }

    std::uint32_t tile = 0;
    std::vector<Registers> registers;
    std::vector<std::uint32_t> address;
    std::vector<std::byte> memory;
    std::vector<Complex<T>> linear, general;
    std::vector<std::uint64_t> angles;
  };

  Complex<T>& state(std::uint64_t offset) { return state_[offset / sizeof(Complex<T>)]; }

  void run_tile(std::uint32_t tile) {
    const std::uint64_t start = tile_offset(f_.runs, f_.num_runs, tile);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      blocks_[b].tile = tile + static_cast<std::uint32_t>(b);
      load(blocks_[b], start + (b ? f_.block_load : 0));
    }
    const std::byte* chunk = pass_.code.data();
    for (std::uint32_t c = 0; c < f_.num_chunks; ++c) {
      ChunkHead head;
      std::memcpy(&head, chunk, sizeof head);
      run_chunk(*reinterpret_cast<const ChunkHead*>(chunk), chunk + sizeof head);
      chunk += static_cast<std::size_t>(head.size16) * 16;
    }
    TW_CHECK(chunk == pass_.code.data() + pass_.code.size(), "chunks do not fill the program");
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      store(blocks_[b], start + (b ? f_.block_load : 0) + f_.block_move[b]);
  }

  /// The tile arrives in shared memory, every amplitude copied by some thread, or in registers.
  void load(Block& block, std::uint64_t base) {
    if (f_.through_shared) {
      for (std::uint32_t t = 0; t < static_cast<std::uint32_t>(threads_); ++t) {
        for (std::uint32_t j = 0; j < 1u << RB; ++j) {
          const std::uint64_t at =
              base ^ columns(f_.load_column + RB, t, bits_) ^ columns(f_.load_column, j, RB);
          block.shared(columns(f_.place_column + RB, t, bits_) ^ columns(f_.place_column, j, RB)) =
              at & f_.zero_load ? Complex<T>{0, 0} : state(at);
        }
      }
    }
    for (int t = 0; t < threads_; ++t) {
      const auto thread = static_cast<std::uint32_t>(t);
      block.address[t] =
          columns(f_.first_column + RB, thread, bits_) ^ exchange_shift(f_.first_shift, block.tile);
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        if (f_.through_shared) {
          block.registers[t].a[j] =
              block.shared(block.address[t] ^ columns(f_.first_column, j, RB));
          continue;
        }
        const std::uint64_t at =
            base ^ columns(f_.load_column + RB, thread, bits_) ^ columns(f_.load_column, j, RB);
        block.registers[t].a[j] = at & f_.zero_load ? Complex<T>{0, 0} : state(at);
      }
    }
  }

  void store(Block& block, std::uint64_t base) {
    const Complex<T> s{static_cast<T>(f_.scale_re), static_cast<T>(f_.scale_im)};
    for (int t = 0; t < threads_; ++t) {
      if (f_.scale_kind == ScaleKind::kBits) scale_bits(block, t);
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        std::uint64_t at = (base ^ f_.store_xor ^
                            columns(f_.store_column + RB, static_cast<std::uint32_t>(t), bits_)) +
                           f_.store_add;
        for (int b = 0; b < RB; ++b) at += j >> b & 1 ? f_.store_column[b] : 0;
        if (!(at & f_.zero_store)) state(at) = block.registers[t].a[j] * s;
      }
    }
  }

  void scale_bits(Block& block, int thread) {
    T scale = blocks_.size() > 1 && block.tile & 1 ? static_cast<T>(f_.bit_scale[RB + bits_]) : 1;
    for (int b = 0; b < bits_; ++b) {
      if (thread >> b & 1) scale *= static_cast<T>(f_.bit_scale[RB + b]);
    }
    with_bit_scale<RB - 1, 0>(block.registers[thread].a, scale, f_.bit_scale,
                              [](Complex<T>& a, T s) {
                                a = {a.re * s, a.im * s};
                              });
  }

  void prepare(Block& block, const ChunkHead& chunk) {
    const auto warps = static_cast<std::uint32_t>(pass_.shape.num_warps());
    const auto rows = static_cast<std::uint32_t>(1 + bits_);
    const std::byte* tables = pass_.tables.data();
    block.linear.clear();
    for (std::uint32_t i = 0; i < chunk.num_linear * warps; ++i) {
      block.linear.push_back(linear_value<T>(chunk.tile_bits, chunk.linear_tables, tables,
                                             i / warps, i % warps, warps, block.tile));
    }
    block.angles.clear();
    for (std::uint32_t r = 0; r < chunk.num_general * rows; ++r) {
      block.angles.push_back(general_row(chunk, r, chunk.num_general * rows, block.tile));
      if (r % rows != 0) continue;
      const GeneralEntry& entry = table<GeneralEntry>(tables, chunk.general_entries)[r / rows];
      const auto* term = table<MixedTerm>(tables, entry.tile_first);
      for (std::uint32_t k = 0; k < entry.tile_count; ++k) {
        if ((block.tile & term[k].tile_mask) == term[k].tile_mask) {
          block.angles.back() += term[k].turns;
        }
      }
    }
  }

  void run_chunk(const ChunkHead& chunk, const std::byte* code) {
    for (Block& block : blocks_) prepare(block, chunk);
    for (;;) {
      const std::byte* const at = code;
      const OpWord head{reinterpret_cast<const OpHead*>(code)->word};
      code += head.extent();
      if (head.code() == kEnd) return;
      if (head.code() == kCross) {
        cross();
        continue;
      }
      for (Block& block : blocks_) run_operation(block, chunk, head, at);
    }
  }

  void run_operation(Block& block, const ChunkHead& chunk, OpWord head, const std::byte* at) {
    const auto rows = static_cast<std::uint32_t>(1 + bits_);
    const std::byte* tables = pass_.tables.data();
    struct Alone {  // what threads do together is done below
      void exchange(const std::byte*, bool) const {}
      void cross(bool) const {}
      void shared_matrix(const std::byte*, bool, std::uint32_t) const {}
      void make_general(std::uint32_t) const {}
      void next_chunk() const {}
    };
    const OpHead& stored = *reinterpret_cast<const OpHead*>(at);
    const std::byte* payload = at + sizeof stored;
    const auto& controls = *reinterpret_cast<const OpControls*>(payload);
    if (head.code() == kExchange) {
      exchange(block, reinterpret_cast<const std::uint32_t*>(payload));
    } else if (head.code() == kGeneral) {
      const std::uint32_t g = head.index();
      for (int t = 0; t < threads_; ++t) {
        block.general[static_cast<std::size_t>(t)] = general_factor<T>(
            table<GeneralEntry>(tables, chunk.general_entries)[g], block.angles.data() + g * rows,
            tables, static_cast<std::uint32_t>(t), bits_, block.tile);
      }
    } else if (head.code() == kMatrixShared) {
      shared_matrix(block, stored, controls,
                    *reinterpret_cast<const SharedMatrix*>(
                        payload + (head.controlled() ? sizeof controls : 0)));
    } else {
      for (int t = 0; t < threads_; ++t) {
        const PhaseContext<T> context{block.linear.data(), block.general.data(),
                                      static_cast<std::uint32_t>(t), bits_};
        NextOp none;
        apply_op<RB, OpSet::kAll, false, T>(block.registers[t].a, {head.at(0), stored.pairs}, at,
                                            context, block.tile, Alone{}, none);
      }
    }
  }

  void exchange(Block& block, const std::uint32_t* column) {
    const std::uint32_t shift = exchange_shift(column + 2 * RB + bits_, block.tile);
    for (int t = 0; t < threads_; ++t) {
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        block.shared(block.address[t] ^ columns(column, j, RB)) = block.registers[t].a[j];
      }
    }
    for (int t = 0; t < threads_; ++t) {
      block.address[t] = columns(column + 2 * RB, static_cast<std::uint32_t>(t), bits_) ^ shift;
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        block.registers[t].a[j] = block.shared(block.address[t] ^ columns(column + RB, j, RB));
      }
    }
  }

  /// The threads of both blocks exchange what is not their block's by the highest register bit.
  void cross() {
    constexpr std::uint32_t kHalf = 1u << (RB - 1);
    for (int t = 0; t < threads_; ++t) {
      for (std::uint32_t j = 0; j < kHalf; ++j) {
        std::swap(blocks_[0].registers[t].a[j | kHalf], blocks_[1].registers[t].a[j]);
      }
    }
  }

  void shared_matrix(Block& block, const OpHead& head, const OpControls& controls,
                     const SharedMatrix& m) {
    for (int t = 0; t < threads_; ++t) {
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        block.shared(block.address[t] ^ columns(m.register_column, j, RB)) =
            block.registers[t].a[j];
      }
    }
    for (int t = 0; t < threads_; ++t) {
      if (!op_allowed(OpWord{head.word}, controls, static_cast<std::uint32_t>(t), block.tile)) {
        continue;
      }
      for (std::uint32_t j = 0; j < 1u << RB; ++j) {
        if (!(head.pairs >> j & 1)) continue;
        std::uint32_t row, clear;
        shared_matrix_place(m, static_cast<std::uint32_t>(t), j, row, clear);
        const std::uint32_t base = block.address[t] ^ columns(m.register_column, j, RB) ^ clear;
        block.registers[t].a[j] =
            shared_matrix_row<T>(m, pass_.tables.data(), row, base, block.memory.data());
      }
    }
  }

  const TilePass& pass_;
  const PassFrame& f_;
  std::span<Complex<T>> state_;
  int threads_, bits_;
  std::vector<Block> blocks_;
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
