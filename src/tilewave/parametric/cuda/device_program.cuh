// A program's arrays on a device, and what depends on the values of a set.
#pragma once

#include "tilewave/parametric/cuda/device_array.cuh"
#include "tilewave/parametric/cuda/tile_machine.cuh"

namespace tilewave::parametric::device {

// The factor of every operation's angle, and of every term's.
template <class T>
__global__ void look_up(const StageOp* ops, std::uint32_t num_ops, const StageTerm* terms,
                        std::uint32_t num_terms, const Amplitude<T>* factors, Amplitude<T>* of_ops,
                        Amplitude<T>* of_terms) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < num_ops && ops[k].angle >= 0) of_ops[k] = factors[ops[k].angle];
  if (k < num_terms) of_terms[k] = factors[terms[k].angle];
}

// table[block][thread]: the product of the terms that the thread has.
template <class T>
__global__ void make_tables(const StageTable* tables, const StageTerm* terms,
                            const Amplitude<T>* factors, Amplitude<T>* out) {
  const StageTable table = tables[blockIdx.x];
  Amplitude<T> product = {1, 0};
  for (std::uint32_t k = table.first; k < table.end; ++k) {
    if ((threadIdx.x & terms[k].thread) == terms[k].thread)
      product = times(product, factors[terms[k].angle]);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = product;
}

/// A program's arrays on a device.
template <class T>
class DeviceProgram {
 public:
  DeviceProgram(const StageProgram& p, const cuda::Stream& stream)
      : passes_(p.passes, stream),
        ops_(p.ops, stream),
        exchanges_(p.exchanges, stream),
        conditions_(p.conditions, stream),
        phases_(p.phases, stream),
        terms_(p.terms, stream),
        matrices_(p.matrices, stream),
        tables_(p.tables, stream),
        reads_(p.reads, stream),
        table_(p.tables.size() << (p.row_bits - p.register_bits), "products of phases"),
        op_factors_(p.ops.size(), "the angles of operations"),
        term_factors_(p.terms.size(), "the angles of phases"),
        threads_(1u << (p.row_bits - p.register_bits)),
        num_tables_(static_cast<std::uint32_t>(p.tables.size())) {
    std::vector<Amplitude<T>> entries;
    for (const cplx& x : p.entries)
      entries.push_back({static_cast<T>(x.real()), static_cast<T>(x.imag())});
    entries_ = Array<Amplitude<T>>(entries, stream);
    stream.synchronize();
  }
  ProgramView<T> view() const {
    return {passes_.data(), ops_.data(),      exchanges_.data(), conditions_.data(), phases_.data(),
            terms_.data(),  matrices_.data(), entries_.data(),   reads_.data()};
  }
  const Amplitude<T>* table() const { return table_.data(); }
  const Amplitude<T>* op_factors() const { return op_factors_.data(); }
  const Amplitude<T>* term_factors() const { return term_factors_.data(); }
  void bind(const Amplitude<T>* factors, const cuda::Stream& stream) {
    const auto num_ops = static_cast<std::uint32_t>(ops_.count()),
               num_terms = static_cast<std::uint32_t>(terms_.count());
    cuda::launch(&look_up<T>, dim3((std::max(num_ops, num_terms) + 255) / 256 + 1), dim3(256), 0,
                 stream, static_cast<const StageOp*>(ops_.data()), num_ops,
                 static_cast<const StageTerm*>(terms_.data()), num_terms, factors,
                 op_factors_.data(), term_factors_.data());
    bind_tables(factors, stream);
  }
  void bind_tables(const Amplitude<T>* factors, const cuda::Stream& stream) {
    if (!num_tables_) return;
    cuda::launch(&make_tables<T>, dim3(num_tables_), dim3(threads_), 0, stream,
                 static_cast<const StageTable*>(tables_.data()),
                 static_cast<const StageTerm*>(terms_.data()), factors, table_.data());
  }

 private:
  Array<StagePass> passes_;
  Array<StageOp> ops_;
  Array<Exchange> exchanges_;
  Array<ExchangeCondition> conditions_;
  Array<StagePhases> phases_;
  Array<StageTerm> terms_;
  Array<StageMatrix> matrices_;
  Array<StageTable> tables_;
  Array<StageRead> reads_;
  Array<Amplitude<T>> table_, op_factors_, term_factors_, entries_;
  std::uint32_t threads_, num_tables_;
};

}  // namespace tilewave::parametric::device
