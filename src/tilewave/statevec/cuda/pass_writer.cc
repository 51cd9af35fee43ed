#include "tilewave/statevec/cuda/pass_writer.h"

#include <bit>
#include <sstream>
#include <utility>

#include "tilewave/base/fingerprint.h"
#include "tilewave/runtime/cost_cache.h"
#include "tilewave/statevec/cuda/jit_files.h"
#include "tilewave/statevec/tile/jit_source.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::cuda {

std::uint64_t fingerprint(const Plan& plan, bool with_numbers) {
  Fingerprint f;
  const auto number = [&](auto x) {
    if (with_numbers) f.add(x);
  };
  f.add(static_cast<std::uint64_t>(plan.num_qubits) << 8 |
        static_cast<std::uint64_t>(plan.precision));
  for (const Pass& pass : plan.passes) {
    for (std::size_t i = 0; i < pass.active.size(); ++i) {
      f.add(static_cast<std::uint64_t>(pass.active[i]) << 8 | pass.dest[i]);
    }
    f.add(pass.store_flips);
    f.add(pass.known_zero_before);
    f.add(pass.known_zero_after);
    number(pass.scale.real());
    number(pass.scale.imag());
    for (const Action& a : pass.actions) {
      f.add(static_cast<std::uint64_t>(a.kind) << 32 |
            static_cast<std::uint64_t>(a.num_targets) << 40 | a.count);
      for (int t = 0; t < a.num_targets; ++t)
        f.add(std::uint64_t{a.targets[static_cast<std::size_t>(t)]});
      f.add(a.control_mask);
      f.add(a.control_value);
      for (double x : a.m) number(x);
      number(a.pre_turns);
      f.add(std::uint64_t{a.first});
    }
  }
  for (const PhaseTerm& t : plan.terms) {
    f.add(t.mask);
    number(t.turns);
  }
  for (const cplx& z : plan.matrices) {
    number(z.real());
    number(z.imag());
  }
  return f.value();
}

const PassWriter::Tile& PassWriter::tile_of(const Pass& pass) const {
  return tiles_[tile_for(pass, tiles_, [](const Tile& t) { return t.shape; })];
}

std::vector<tile::TilePass> PassWriter::lower(const Plan& plan, std::size_t pass,
                                              const tile::Tries& tries, bool compiled) const {
  const tile::Shape& shape = tile_of(plan.passes[pass]).shape;
  return tile::lower_within(plan, pass, shape, program_bytes_ - kProgramPadding,
                            tile::chunk_limits(shape), tries, compiled, costs_);
}

std::vector<tile::TilePass> PassWriter::write(const Plan& plan, std::size_t pass,
                                              const tile::Tries& tries) const {
  return lower(plan, pass, tries, false);
}

std::vector<CompiledPass> PassWriter::write_compiled(const Plan& plan, std::size_t pass,
                                                     const tile::Tries& tries) const {
  std::vector<CompiledPass> all;
  for (tile::TilePass& program : lower(plan, pass, tries, true)) {
    PassKernel kernel = kernel_of(program);
    if (!kernel.entry) return {};
    all.push_back({std::move(program), std::move(kernel)});
  }
  return all;
}

PassKernel PassWriter::kernel_of(const tile::TilePass& program) const {
  JitCache* const cache = JitCache::of_process();
  if (!cache) return {};
  std::size_t k = 0;
  while (tiles_[k].shape.tile_qubits != program.shape.tile_qubits) ++k;
  const int blocks = tiles_[k].blocks[static_cast<std::size_t>(program.frame.op_set)];
  for (int shortenings = 0; shortenings <= tile::kJitMostShortenings; ++shortenings) {
    std::optional<tile::JitSource> source = tile::jit_source(program, blocks, shortenings);
    if (!source) break;
    std::shared_ptr<JitCache::Entry> entry = cache->entry(pass_kernels(), source->text, device_);
    if (!JitCache::is_too_long(*entry))
      return {std::move(entry), std::move(source->numbers), shortenings > 0};
  }
  return {};
}

std::string PassWriter::ways_key(const Plan& plan) const {
  Fingerprint f;
  f.add(fingerprint(plan, false));
  for (const Pass& pass : plan.passes) f.add(std::uint64_t{may_compile(pass)});
  for (const Tile& t : tiles_) {
    const tile::Shape& s = t.shape;
    for (const int x : {s.tile_qubits, s.register_bits, s.row_bits, s.block_bits})
      f.add(static_cast<std::uint64_t>(x));
    f.add(std::uint64_t{s.shared_bytes});
  }
  if (costs_) {
    for (const tile::OpCosts* costs : {&costs_->interpreted, &costs_->compiled}) {
      for (const double ms : std::bit_cast<tile::OpCostList>(*costs)) f.add(ms);
    }
  }
  std::ostringstream key;
  key << "passes/" << std::hex << f.value();
  return runtime::cost_key(device_, key.str());
}

}  // namespace tilewave::statevec::cuda
