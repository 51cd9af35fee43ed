// NVIDIA's collective library, loaded at run time: only what exchanges between processes need,
// sends and receives of bytes between ranks with a device each. Nothing of it is linked, so that a
// program runs where it is missing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/runtime/ranks.h"

namespace tilewave::runtime::cuda {

class Nccl {
 public:
  /// 22809 for 2.28.9; 0, and `problem` says why, where the library cannot be loaded.
  static int library_version(std::string* problem);

  /// The ranks' communicator on the current device; every rank calls this. Null where the library
  /// cannot be loaded on some rank or two ranks share a device; `problem` then says which and why,
  /// the same on all ranks. Throws Error(kCommunication) when the library fails.
  static std::unique_ptr<Nccl> connect(Ranks& ranks, int device, std::string* problem);
  /// The same communicator for all that ask for these ranks and this device, made by the first call,
  /// which all ranks make together. It is kept for as long as the process runs: at its end the library
  /// must not be asked for anything.
  static std::shared_ptr<Nccl> joined(const std::shared_ptr<Ranks>& ranks, int device,
                                      std::string* problem);

  virtual ~Nccl() = default;
  virtual int version() const = 0;  ///< 22809 is 2.28.9
  /// Between these two, sends and receives are collected and start together.
  virtual void start_group() = 0;
  virtual void end_group() = 0;
  virtual void send(const void* from, std::size_t num_bytes, int peer, const Stream& stream) = 0;
  virtual void receive(void* to, std::size_t num_bytes, int peer, const Stream& stream) = 0;
  /// Throws Error(kCommunication) when a transfer has failed since.
  virtual void check_transfers() = 0;
};

}  // namespace tilewave::runtime::cuda
