// Shots in order from any number of threads. A thread takes the next block, makes and formats it,
// and goes on with another: whoever completes the block that is to be written next writes it and
// all that are ready behind it. A thread has two blocks of memory, so it may be one ahead.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>

#include "tilewave/base/interrupt.h"
#include "tilewave/base/saturating.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/sample/fill_shots.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};  // for an interrupt, by who waits

struct Slot {
  std::shared_ptr<std::uint8_t[]> rows;
  formats::ByteBuffer buffer;
  std::span<const char> bytes;
  std::uint64_t num_shots = 0;
  bool busy = false;
};

class Runner {
 public:
  Runner(ShotSource& source, const SampleOptions& options, const ShotPipeline& pipeline)
      : source_(source),
        pipeline_(pipeline),
        must_be_zero_(options.must_be_zero),
        seed_(options.seed),
        first_(options.first_shot),
        end_(options.first_shot + options.num_shots),
        block_(source.block_shots()),
        next_(first_ / block_),
        end_block_((end_ - 1) / block_ + 1),
        to_write_(next_) {}

  std::uint64_t run(int threads) {
    const auto useful = static_cast<std::uint64_t>(threads);
    threads = static_cast<int>(std::min(useful, end_block_ - next_));
    StopFlag stop;  // the calling thread, which is the first, asks for all
    runtime::run_on_threads(threads, [&](int t) {
      const StopFlag::Scope scope(stop);
      work(t, threads > 1 ? 2 : 1);
    });
    stop.rethrow();
    if (failure_) std::rethrow_exception(failure_);
    return written_;
  }

 private:
  void work(int thread, int num_slots) {
    std::vector<Slot> slots(static_cast<std::size_t>(num_slots));
    std::unique_lock lock(mutex_);
    try {
      while (true) {
        Slot* slot = nullptr;
        while (!turn_.wait_for(lock, kBetweenLooks, [&] {
          for (Slot& s : slots) slot = slot || s.busy ? slot : &s;
          return stop_ || slot;
        })) {
          check_interrupt();
        }
        if (stop_ || next_ == end_block_) break;
        check_interrupt();
        const std::uint64_t b = next_++;
        lock.unlock();
        fill(*slot, b, thread);
        lock.lock();
        slot->busy = true;
        ready_[b] = slot;
        write_ready(lock);
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (!failure_) failure_ = std::current_exception();
      stop_ = true;
    }
    turn_.notify_all();
    // The memory must stay until another thread has written it.
    turn_.wait(lock, [&] {
      for (const Slot& s : slots) {
        if (s.busy && !stop_) return false;
      }
      return !writing_ || !stop_;
    });
  }

  void fill(Slot& slot, std::uint64_t b, int thread) {
    const std::uint64_t row = source_.row_stride(), begin = b * block_;
    if (!slot.rows) slot.rows = source_.row_memory(block_ * row + 64);
    const std::uint64_t from = std::max(first_, begin) - begin,
                        to = std::min(end_, begin + block_) - begin;
    slot.buffer.clear();
    slot.num_shots = to - from;
    if (must_be_zero_.empty()) {
      source_.fill_part(seed_, b, from, to, thread, slot.rows.get());
      slot.bytes = pipeline_.format(slot.rows.get() + from * row, slot.num_shots, slot.buffer);
    } else {
      const std::uint64_t kept =
          source_.fill_kept(seed_, b, from, to, thread, must_be_zero_, slot.rows.get());
      slot.bytes = pipeline_.format(slot.rows.get(), kept, slot.buffer);
    }
  }

  void write_ready(std::unique_lock<std::mutex>& lock) {
    if (writing_) return;
    for (auto it = ready_.find(to_write_); it != ready_.end() && !stop_;
         it = ready_.find(to_write_)) {
      Slot& slot = *it->second;
      ready_.erase(it);
      writing_ = true;
      lock.unlock();
      bool more = false;
      try {
        more = pipeline_.write(slot.bytes, slot.num_shots);
      } catch (...) {
        lock.lock();
        writing_ = false;
        throw;
      }
      lock.lock();
      writing_ = false;
      slot.busy = false;
      ++to_write_;
      // The last block before a stop has been written, too.
      written_ += slot.num_shots;
      if (!more) stop_ = true;
      turn_.notify_all();
    }
  }

  ShotSource& source_;
  const ShotPipeline& pipeline_;
  const std::vector<std::uint64_t>& must_be_zero_;
  const std::uint64_t seed_, first_, end_, block_;
  std::uint64_t next_;  // block to be made
  const std::uint64_t end_block_;
  std::uint64_t to_write_;
  std::map<std::uint64_t, Slot*> ready_;
  std::uint64_t written_ = 0;
  bool writing_ = false, stop_ = false;
  std::exception_ptr failure_;
  std::mutex mutex_;
  std::condition_variable turn_;
};

}  // namespace

std::uint64_t run_shots(ShotSource& source, const SampleOptions& options,
                        const ShotPipeline& pipeline) {
  check_shot_numbers(options.first_shot, options.num_shots,
                     "use a smaller --first_shot or --shots");
  if (options.num_shots == 0) return 0;
  return Runner(source, options, pipeline).run(threads_for(source, options.num_threads));
}

}  // namespace tilewave::stabilizer
