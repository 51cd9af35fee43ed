#include "tilewave/statevec/distributed/host_chunks.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "tilewave/base/bits.h"

namespace tilewave::statevec::distributed {

namespace {

constexpr int kMostPitch = 30;  // log2 of the bytes between two rows of a copy

}  // namespace

std::uint64_t ChunkStore::address(int chunk, std::uint64_t index) const {
  const std::uint64_t values =
      (static_cast<std::uint64_t>(chunk) << layout.chunk_qubits | index) ^ inverted;
  std::uint64_t at = 0;
  for (int p = 0; p < layout.num_qubits; ++p) at |= (values >> p & 1) << address_bit[p];
  return at;
}

void ChunkStore::reset() {
  address_bit.resize(static_cast<std::size_t>(layout.num_qubits));
  for (int p = 0; p < layout.num_qubits; ++p) address_bit[static_cast<std::size_t>(p)] = p;
  inverted = 0;
}

char* ChunkStore::at(int chunk, std::uint64_t index) const {
  const std::uint64_t a = address(chunk, index);
  return static_cast<char*>(memory.blocks[a >> layout.block_qubits]) +
         (a & low_mask(layout.block_qubits)) * layout.amplitude_bytes;
}

void ChunkStore::copy(void* to, const void* from, std::size_t num_bytes, std::uint64_t a) const {
  if (layout.device_of_block[a >> layout.block_qubits] == StreamLayout::kHostBlock) {
    std::memcpy(to, from, num_bytes);
  } else {
    memory.copy(to, from, num_bytes);
  }
}

void ChunkStore::read(int chunk, std::uint64_t index, void* to, std::size_t num_bytes) const {
  copy(to, at(chunk, index), num_bytes, address(chunk, index));
}

void ChunkStore::write(int chunk, std::uint64_t index, const void* from, std::size_t num_bytes) {
  copy(at(chunk, index), from, num_bytes, address(chunk, index));
}

std::uint64_t ChunkStore::num_on_host(int chunk, std::uint64_t known_zero) const {
  std::uint64_t within = 1, blocks = 0;  // amplitudes a block; positions that number blocks
  for (int p = 0; p < layout.chunk_qubits; ++p) {
    if (known_zero >> p & 1) continue;
    if (address_bit[p] < layout.block_qubits) {
      within *= 2;
    } else {
      blocks |= bit(p);
    }
  }
  std::uint64_t on_host = 0;
  for (std::uint64_t k = 0; k < bit(std::popcount(blocks)); ++k) {
    const std::uint64_t block = address(chunk, deposit_bits(k, blocks)) >> layout.block_qubits;
    if (layout.device_of_block[block] == StreamLayout::kHostBlock) on_host += within;
  }
  return on_host;
}

int ChunkStore::run_bits() const {
  int bits = 0;
  while (bits < layout.block_qubits && address_bit[bits] == bits && !(inverted >> bits & 1)) ++bits;
  return bits;
}

ChunkPieces ChunkStore::pieces(std::uint64_t known_zero) const {
  struct Stretch {
    int position, address, bits;
    RunShape::Axis axis() const { return {bits, bit(position), bit(address)}; }
    // a plane of such rows ends before the next begins
    bool is_within(const Stretch& o) const {
      return position + bits <= o.position && address + bits <= o.address;
    }
  };
  ChunkPieces pieces;
  RunShape& shape = pieces.shape;
  shape.run_bits = run_bits();
  const int furthest = kMostPitch - std::countr_zero(layout.amplitude_bytes);
  std::vector<Stretch> stretches;
  for (int p = shape.run_bits; p < std::min(layout.chunk_qubits, furthest); ++p) {
    const int a = address_bit[p];
    if (a >= std::min(layout.block_qubits, furthest) || (known_zero | inverted) >> p & 1) continue;
    if (!stretches.empty()) {
      Stretch& last = stretches.back();
      if (last.position + last.bits == p && last.address + last.bits == a) {
        ++last.bits;
        continue;
      }
    }
    stretches.push_back({p, a, 1});
  }
  for (const Stretch& rows : stretches) {
    if (rows.bits > shape.rows.bits + shape.planes.bits)
      shape.rows = rows.axis(), shape.planes = {};
    for (const Stretch& planes : stretches) {
      if (!rows.is_within(planes)) continue;
      if (rows.bits + planes.bits <= shape.rows.bits + shape.planes.bits) continue;
      shape.rows = rows.axis();
      shape.planes = planes.axis();
    }
  }
  pieces.free = low_mask(layout.chunk_qubits) & ~low_mask(shape.run_bits) & ~known_zero;
  for (const RunShape::Axis& axis : {shape.rows, shape.planes})
    pieces.free &= ~(low_mask(axis.bits) * axis.step);
  return pieces;
}

WorkerPool::WorkerPool(std::vector<std::unique_ptr<State>> workers, int num_devices)
    : links_(static_cast<std::size_t>(num_devices)) {
  for (std::size_t w = 0; w < workers.size(); ++w)
    all_.push_back({std::move(workers[w]), &links_[w % links_.size()]});
  for (Worker& worker : all_) free_.push_back(&worker);
}

void WorkerPool::borrow(const std::function<void(Worker&)>& f) {
  Worker* worker = nullptr;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !free_.empty(); });
    worker = free_.back();
    free_.pop_back();
  }
  std::exception_ptr failure;
  try {
    f(*worker);
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(worker);
  }
  freed_.notify_one();
  if (failure) std::rethrow_exception(failure);
}

std::uint64_t WorkerPool::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const Worker& worker : all_) bytes += worker.state->memory_bytes();
  return bytes;
}

void WorkerPool::add(const VisitTimes& visit) {
  const std::lock_guard lock(mutex_);
  for (const auto part : {&VisitTimes::wait_in, &VisitTimes::in, &VisitTimes::work,
                          &VisitTimes::wait_out, &VisitTimes::out}) {
    (times_.*part).seconds += (visit.*part).seconds;
    (times_.*part).bytes += (visit.*part).bytes;
  }
}

VisitTimes WorkerPool::take_times() {
  const std::lock_guard lock(mutex_);
  return std::exchange(times_, {});
}

}  // namespace tilewave::statevec::distributed
