// A shard on a CUDA device (plan/shard.h): amplitudes travel from device to device over NCCL or, where ranks
// share a device or there is no such library, through the memory of the hosts.
// Part of device_run.cu, whose kernels it starts.
#pragma once

#include <algorithm>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/parametric/cuda/device_run.cuh"
#include "tilewave/parametric/plan/shard.h"
#include "tilewave/runtime/cuda/nccl.h"

namespace tilewave::parametric {

constexpr std::size_t kPieceBytes = std::size_t{64} << 20;  // that are exchanged at a time

template <class T>
class DeviceShard final : public Shard {
 public:
  using Run = typename DeviceRun<T>::Data;
  using A = Amplitude<T>;

  DeviceShard(const ShardPlan& plan, int device, std::shared_ptr<runtime::Ranks> ranks)
      : plan_(plan), device_(device), ranks_(std::move(ranks)) {
    cuda::use_device(device_);
    const std::uint64_t shard = static_cast<std::uint64_t>(ranks_->rank()) << plan_.local;
    for (std::size_t k = 0; k < plan_.programs.size(); ++k) {
      const bool is_last = k + 1 == plan_.programs.size();
      runs_.push_back(std::make_unique<Run>(plan_.stretches.list[k].actions,
                                            is_last ? plan_.strings : Strings{}, plan_.programs[k],
                                            device_, shard));
      runs_.back()->from_zero = false;
    }
  }
  ~DeviceShard() override { cuda::withdraw_idle(this); }

  void prepare() override {
    cuda::withdraw_idle(this);
    cuda::use_device(device_);
    const std::string what = "a shard of the state (a gradient needs " +
                             std::string(plan_.reaches_others ? "3" : "2") + " of them)";
    const auto need = [&](Array<A>& array, std::size_t count) {
      if (array.count() < count) array = Array<A>(count, what);
    };
    need(run().psi, shard_size());
    need(run().lam, shard_size());
    if (plan_.reaches_others) need(other_, shard_size());
    need(out_, piece());
    need(in_, piece());
  }

  void connect() override {
    cuda::use_device(device_);
    nccl_ = cuda::Nccl::joined(ranks_, device_, &problem_);
    if (nccl_) return;
    for (cuda::PinnedBuffer* buffer : {&host_out_, &host_in_})
      *buffer = cuda::PinnedBuffer(piece() * sizeof(A));
  }
  std::string link() const override {
    if (!nccl_) return std::string(ranks_->kind()) + " through host memory (" + problem_ + ")";
    const int version = nccl_->version();
    return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
           "." + std::to_string(version % 100);
  }

  void bind(const double* values, std::size_t num_parameters) override {
    for (auto& each : runs_) each->bind({values, num_parameters});
  }

  void start() override {
    Run& first = at(0);
    first.clear(first.psi, shard_size());
    if (first.shard != 0) return;
    const A one = {static_cast<T>(first.global.real()), static_cast<T>(first.global.imag())};
    cuda::copy(first.psi.data(), &one, sizeof one, first.stream);
  }
  void forward(std::size_t stretch) override { at(stretch).move_forward(); }

  void exchange(std::pair<int, int> places, bool both) override {
    exchange_state(run().psi.data(), places);
    if (both) exchange_state(run().lam.data(), places);
    finish();
  }

  void read(double* of_observables) override {
    std::fill_n(of_observables, plan_.strings.num_observables, 0.0);
    run().read_observables(of_observables, Reach(*this));
  }
  bool make_lam(const double* v) override {
    if (plan_.strings.strings.empty()) return false;
    std::vector<double> weights(plan_.strings.strings.size());
    for (const Strings::Share& share : plan_.strings.shares)
      weights[share.string] += share.coefficient * v[share.observable];
    run().make_lam(weights, Reach(*this));
    return true;
  }

  void backward(std::size_t stretch, double* of_parameters) override {
    Run& here = at(stretch);
    const auto& angles = here.program.read_angle;
    std::vector<double> reads(std::max<std::size_t>(angles.size(), 1));
    here.move_back(reads, stretch > 0);
    add_derivatives(
        plan_.actions, angles, [&](std::size_t j) { return reads[j]; }, of_parameters);
  }

  // What is large, for whatever else runs on the device.
  void rest() override {
    cuda::offer_idle(this, device_, [this] {
      run().psi = {};
      run().lam = {};
      other_ = {};
    });
  }

 private:
  std::size_t shard_size() const { return std::size_t{1} << plan_.local; }
  std::size_t piece() const { return std::min(kPieceBytes / sizeof(A), shard_size() / 2); }
  Run& run() { return *runs_[at_]; }
  // The run of a stretch, which takes the states over.
  Run& at(std::size_t stretch) {
    if (stretch != at_) {
      run().stream.synchronize();
      runs_[stretch]->psi = std::move(run().psi);
      runs_[stretch]->lam = std::move(run().lam);
      at_ = stretch;
    }
    return run();
  }

  // `count` amplitudes from where the k-th of those with a bit of their number as `mine` has it, to
  // memory without gaps, or back.
  void copy_half(A* state, A* packed, std::uint64_t first, std::uint64_t count, std::uint64_t gap,
                 std::uint64_t mine, bool packs) {
    A* const place = state + (((first & ~(gap - 1)) << 1) | (first & (gap - 1)) | mine);
    const std::uint64_t width = std::min(gap, count);
    const auto pitched = [&](A* data, std::uint64_t pitch) {
      return make_cudaPitchedPtr(data, pitch * sizeof(A), width * sizeof(A), count / width);
    };
    const cudaPitchedPtr there = pitched(place, width == gap ? 2 * gap : width),
                         here = pitched(packed, width);
    cudaMemcpy3DParms copy{};
    copy.srcPtr = packs ? there : here;
    copy.dstPtr = packs ? here : there;
    copy.extent = make_cudaExtent(width * sizeof(A), count / width, 1);
    copy.kind = cudaMemcpyDeviceToDevice;
    cuda::copy(copy, run().stream);
  }

  // Amplitudes whose bit in memory is not that of this process go to the process that differs in it,
  // and its come into their places.
  void exchange_state(A* state, std::pair<int, int> places) {
    const std::uint64_t process_bit = bit(places.second - plan_.local), gap = bit(places.first);
    const auto rank = static_cast<std::uint64_t>(ranks_->rank());
    const std::uint64_t mine = (rank & process_bit) ? 0 : gap;
    for (std::uint64_t first = 0; first < shard_size() / 2; first += piece()) {
      copy_half(state, out_.data(), first, piece(), gap, mine, true);
      swap(rank ^ process_bit, out_.data(), in_.data(), piece());
      copy_half(state, in_.data(), first, piece(), gap, mine, false);
    }
  }

  // Over NCCL in the order of the stream.
  void swap(std::uint64_t peer, const A* out, A* in, std::size_t count) {
    const cuda::Stream& stream = run().stream;
    const std::size_t bytes = count * sizeof(A);
    const int to = static_cast<int>(peer);
    if (nccl_) {
      nccl_->start_group();
      nccl_->send(out, bytes, to, stream);
      nccl_->receive(in, bytes, to, stream);
      nccl_->end_group();
      return;
    }
    cuda::copy(host_out_.data(), out, bytes, stream);
    stream.synchronize();
    ranks_->start_swap(0, to, host_out_.data(), bytes, host_in_.data(), bytes);
    ranks_->finish_swap(0);
    cuda::copy(in, host_in_.data(), bytes, stream);
    stream.synchronize();  // before the buffer is written again
  }
  // With the care of every wait for other processes.
  void finish() {
    ranks_->wait_for([&] {
      if (nccl_) nccl_->check_transfers();
      return run().stream.is_done();
    });
  }

  // Brings the psi of the process that differs in some wires, once for all that ask for it in turn.
  class Reach {
   public:
    explicit Reach(DeviceShard& shard) : shard_(&shard) {}
    A* operator()(std::uint64_t wires) {
      if (wires == here_) return shard_->other_.data();
      here_ = wires;
      DeviceShard& s = *shard_;
      const std::uint64_t peer =
          static_cast<std::uint64_t>(s.ranks_->rank()) ^ s.plan_.process_of(wires);
      for (std::size_t first = 0; first < s.shard_size(); first += s.piece())
        s.swap(peer, s.run().psi.data() + first, s.other_.data() + first, s.piece());
      s.finish();
      return s.other_.data();
    }

   private:
    DeviceShard* shard_;
    std::uint64_t here_ = 0;
  };

  const ShardPlan& plan_;
  int device_;
  std::shared_ptr<runtime::Ranks> ranks_;
  std::shared_ptr<cuda::Nccl> nccl_;
  std::string problem_;                     // why there is none
  std::vector<std::unique_ptr<Run>> runs_;  // of the stretches; one of them has the states
  std::size_t at_ = 0;                      // which
  Array<A> other_, out_, in_;
  cuda::PinnedBuffer host_out_, host_in_;
};

}  // namespace tilewave::parametric
