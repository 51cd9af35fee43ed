// Writes passes of plans as tile programs for the kernels of a device, and finds the kernels that are
// compiled for one program each. A value that knows no state and no workspace, so that other threads
// can write while a device is at work.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cuda/program_store.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/tile/pass_ways.h"

namespace tilewave::statevec::cuda {

/// A number that stands for everything that the programs of a plan depend on; without numbers (angles,
/// factors) for the ways that they are tried in.
std::uint64_t fingerprint(const Plan& plan, bool with_numbers = true);

class PassWriter {
 public:
  /// Of a kernel: what a block of threads holds, and how many share a multiprocessor.
  struct Tile {
    tile::Shape shape;
    std::array<int, 3> blocks;  ///< by set of operations
  };
  /// `tiles` by ascending size, programs of at most `program_bytes`. `compiles`: there may be kernels of
  /// their own.
  PassWriter(std::vector<Tile> tiles, std::size_t program_bytes, const CostModel& cost,
             runtime::CudaDevice device, bool compiles)
      : tiles_(std::move(tiles)),
        program_bytes_(program_bytes),
        costs_(cost.writer),
        device_(std::move(device)),
        compiles_(compiles) {}

  /// Whether a pass is worth a kernel.
  bool may_compile(const Pass& pass) const {
    return compiles_ && JitCache::serves(pass.predicted_s);
  }
  /// The programs of a pass, each small enough; several where one is not.
  std::vector<tile::TilePass> write(const Plan& plan, std::size_t pass,
                                    const tile::Tries& tries) const;
  /// The same with kernels of their own. None where one of them has no kernel.
  std::vector<CompiledPass> write_compiled(const Plan& plan, std::size_t pass,
                                           const tile::Tries& tries) const;
  /// Of a program that was written for one. Where the code of one came out too long, one of a shorter
  /// source.
  PassKernel kernel_of(const tile::TilePass& program) const;
  /// What the ways of these passes are known by.
  std::string ways_key(const Plan& plan) const;

 private:
  std::vector<tile::TilePass> lower(const Plan& plan, std::size_t pass, const tile::Tries& tries,
                                    bool compiled) const;
  const Tile& tile_of(const Pass& pass) const;

  std::vector<Tile> tiles_;
  std::size_t program_bytes_;
  const tile::WriterCosts* costs_;
  runtime::CudaDevice device_;
  bool compiles_;
};

/// Which of some tiles, by ascending size, a pass has: the smallest one that holds it, or the last one.
template <class Tiles>
std::size_t tile_for(const Pass& pass, const Tiles& tiles, auto shape_of) {
  std::size_t k = 0;
  while (k + 1 < tiles.size() &&
         static_cast<int>(pass.active.size()) > shape_of(tiles[k]).tile_qubits) {
    ++k;
  }
  return k;
}

}  // namespace tilewave::statevec::cuda
