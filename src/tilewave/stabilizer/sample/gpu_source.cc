#include "tilewave/stabilizer/sample/gpu_source.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "tilewave/base/error.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

// An engine on GPUs, which take the blocks in turns: which shots a block has does not depend on
// who makes it. One thread drives a device at a time.
class GpuSource : public ShotSource {
 public:
  /// `make(device)` readies a device.
  GpuSource(const std::vector<int>& devices,
            const std::function<std::unique_ptr<GpuRun>(int)>& make, std::uint64_t num_bits,
            std::string engine, std::string program)
      : num_bits_(num_bits), engine_(std::move(engine)), program_(std::move(program)) {
    for (int device : devices) gpus_.emplace_back().run = make(device);
    first_device_ = devices.front();
    set_block(kGpuWorkedBytes);
  }
  std::uint64_t num_bits() const override { return num_bits_; }
  std::uint64_t block_shots() const override { return blocks_ * gpus_.front().run->block_shots(); }
  std::uint64_t row_stride() const override { return gpus_.front().run->row_stride(); }
  int devices() const override { return static_cast<int>(gpus_.size()); }
  int most_threads() const override {
    constexpr int kOfAGpu = 3;  // one waits for the device, one writes, one is ready
    if (is_packed_) return kOfAGpu * devices();
    const std::uint64_t fitting = kGpuMostLockedBytes / (2 * block_shots() * row_stride());
    return std::max(devices(), static_cast<int>(fitting));
  }
  std::shared_ptr<std::uint8_t[]> row_memory(std::size_t num_bytes) override {
    const std::scoped_lock lock(memory_mutex_);
    for (const auto& memory : memory_) {
      if (memory.use_count() == 1 && memory->num_bytes() >= num_bytes)
        return {memory, memory->data()};
    }
    const auto& memory =
        memory_.emplace_back(std::make_shared<PinnedBuffer>(first_device_, num_bytes));
    return {memory, memory->data()};
  }
  bool pack(std::uint64_t num_bits) override {
    for (Gpu& gpu : gpus_) gpu.run->pack(num_bits);
    set_block(kGpuBytes);
    return is_packed_ = true;
  }
  void fill(std::uint64_t seed, std::uint64_t block, int, std::uint8_t* rows) override {
    Gpu& gpu = gpus_[block % gpus_.size()];
    const std::scoped_lock lock(gpu.mutex);
    gpu.run->fill(seed, block * blocks_, blocks_, rows);
  }
  bool summarize(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                 bool pairs, std::uint64_t num_bits, std::vector<std::uint64_t>& table) override {
    // Every device counts a stretch; the tables add up to the same in any order.
    const std::uint64_t first = first_block * blocks_, count = num_blocks * blocks_,
                        num = gpus_.size();
    std::vector<std::vector<std::uint64_t>> tables(num);
    runtime::run_on_threads(static_cast<int>(num), [&](int device) {
      const auto k = static_cast<std::uint64_t>(device);
      const std::uint64_t begin = count * k / num, end = count * (k + 1) / num;
      const std::scoped_lock lock(gpus_[k].mutex);
      if (pairs) {
        gpus_[k].run->pairs(seed, first + begin, end - begin, num_bits, tables[k]);
      } else {
        gpus_[k].run->count(seed, first + begin, end - begin, num_bits, tables[k]);
      }
    });
    for (const auto& part : tables) {
      table.resize(part.size());
      for (std::size_t k = 0; k < part.size(); ++k) table[k] += part[k];
    }
    return true;
  }
  std::uint64_t fill_kept(std::uint64_t seed, std::uint64_t block, std::uint64_t first,
                          std::uint64_t end, int, const std::vector<std::uint64_t>& must_be_zero,
                          std::uint8_t* rows) override {
    Gpu& gpu = gpus_[block % gpus_.size()];
    const std::scoped_lock lock(gpu.mutex);
    gpu.run->discard(must_be_zero);
    return gpu.run->fill_kept({seed, block * block_shots() + first, end - first}, rows);
  }
  bool count_kept(const ShotRange& shots, const std::vector<std::uint64_t>& must_be_zero,
                  std::uint64_t& kept, std::vector<std::uint64_t>& ones) override {
    // Every device counts a stretch of whole blocks, but for the ends.
    const std::uint64_t num = gpus_.size(), block = gpus_.front().run->block_shots();
    const std::uint64_t end = shots.first + shots.count;
    const auto bound = [&](std::uint64_t k) {
      const std::uint64_t at = shots.first + shots.count / num * k;
      return k == 0 ? shots.first : k == num ? end : std::max(shots.first, at / block * block);
    };
    std::vector<std::vector<std::uint64_t>> counts(num);
    std::vector<std::uint64_t> numbers(num);
    runtime::run_on_threads(static_cast<int>(num), [&](int device) {
      const auto k = static_cast<std::uint64_t>(device);
      const std::scoped_lock lock(gpus_[k].mutex);
      gpus_[k].run->discard(must_be_zero);
      numbers[k] =
          gpus_[k].run->count_kept({shots.seed, bound(k), bound(k + 1) - bound(k)}, counts[k]);
    });
    for (std::uint64_t k = 0; k < num; ++k) {
      kept += numbers[k];
      if (ones.size() < counts[k].size()) ones.resize(counts[k].size());
      for (std::size_t b = 0; b < counts[k].size(); ++b) ones[b] += counts[k][b];
    }
    return true;
  }
  std::vector<DeviceShots> keep_on_device(const ShotRange& shots,
                                          const std::vector<BitRange>& parts, DeviceLayout layout,
                                          const std::vector<std::uint64_t>& must_be_zero) override {
    if (gpus_.size() > 1) {
      throw Error(ExitCode::kUsage,
                  "shots stay on a device where one GPU makes them: take a sampler for each GPU "
                  "(cuda:0, cuda:1, ..)");
    }
    const std::scoped_lock lock(gpus_.front().mutex);
    gpus_.front().run->discard(must_be_zero);
    return gpus_.front().run->keep_on_device(shots, parts, layout);
  }
  std::string engine() const override { return engine_; }
  std::string explain() const override {
    return "device gpu" + (gpus_.size() > 1 ? " x" + std::to_string(gpus_.size()) : "") + "\n" +
           program_;
  }

 private:
  void set_block(std::uint64_t num_bytes) {
    const GpuRun& run = *gpus_.front().run;
    blocks_ = std::max<std::uint64_t>(1, num_bytes / (run.block_shots() * run.row_stride()));
  }

  struct Gpu {
    std::unique_ptr<GpuRun> run;
    std::mutex mutex;
  };
  std::deque<Gpu> gpus_;
  std::uint64_t num_bits_, blocks_ = 1;
  bool is_packed_ = false;
  int first_device_ = 0;
  std::mutex memory_mutex_;
  std::vector<std::shared_ptr<PinnedBuffer>> memory_;  // kept: to lock pages takes long
  std::string engine_, program_;
};

}  // namespace

std::unique_ptr<ShotSource> make_gpu_source(const std::vector<int>& devices,
                                            const std::function<std::unique_ptr<GpuRun>(int)>& make,
                                            std::uint64_t num_bits, std::string engine,
                                            std::string program) {
  return std::make_unique<GpuSource>(devices, make, num_bits, std::move(engine),
                                     std::move(program));
}

}  // namespace tilewave::stabilizer
