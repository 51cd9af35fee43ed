// Entropy on one CUDA device. The result has the same bits as entropy_cpu.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tilewave/field/entropy.h"

namespace tilewave::field {

class EntropyCuda {
 public:
  /// Throws Error(kResources) where this build or machine has no such device.
  EntropyCuda(const EntropyPlan& plan, int device);
  ~EntropyCuda();
  EntropyCuda(const EntropyCuda&) = delete;
  EntropyCuda& operator=(const EntropyCuda&) = delete;

  /// As entropy_cpu; returns when `out` is complete.
  void run(const CodeRows<std::uint8_t>& codes, std::int64_t y_begin, std::int64_t y_end,
           float* out, std::int64_t out_stride);
  void run(const CodeRows<std::uint16_t>& codes, std::int64_t y_begin, std::int64_t y_end,
           float* out, std::int64_t out_stride);

  /// The whole image already on the device, densely packed 8-bit codes in, floats out, on `stream`
  /// (a cudaStream_t); returns without waiting.
  void run_on_device(const std::uint8_t* codes, float* out, void* stream);

  std::string explain() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewave::field
