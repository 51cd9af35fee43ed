// Processes under MPI. Every wait is a loop over non-blocking calls, so that it can notice three
// things: rank 0 hears of a process that failed (a message on a communicator of its own), a process
// of the same host that is gone (its id), and silence for TILEWAVE_TIMEOUT_S seconds. One thread
// calls MPI.
#include <mpi.h>

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tilewave/base/environment.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {
namespace {

constexpr double kTimeoutS = 600;  // of silence, unless TILEWAVE_TIMEOUT_S says otherwise
constexpr double kLookS = 0.25;    // between looks for processes that are gone
constexpr double kFarewellS = 20;  // a failed process waits for rank 0 to end the run
constexpr double kAnswerS = 1.9;   // without which PMIx gives its launcher up
constexpr useconds_t kLingerUs = 5'000'000, kLauncherEnds_us = 1'200'000;
constexpr int kFailureTag = 1;
constexpr std::size_t kMessageBytes = 1024;

void check(int status, const char* doing) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  fail(ExitCode::kCommunication, "cannot ", doing, ": ", std::string(text, length));
}

int count_of(std::size_t num_bytes) {
  TW_CHECK(num_bytes <= INT_MAX, "a message of more than 2 GiB");
  return static_cast<int>(num_bytes);
}

class MpiRanks final : public Ranks {
 public:
  /// `is_owner`: MPI was started for this and is to end with it.
  explicit MpiRanks(bool is_owner) : is_owner_(is_owner) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &data_), "copy a communicator");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &control_), "copy a communicator");
    MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(data_, &rank_);
    MPI_Comm_size(data_, &size_);
    timeout_s_ = seconds_from("TILEWAVE_TIMEOUT_S", timeout_s_);
    for (auto& slot : slots_) slot = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    Process me;
    me.id = getpid();
    gethostname(me.host.data(), me.host.size() - 1);
    processes_.resize(size_);
    gather(&me, processes_.data(), sizeof me);
    for (int r = 0; r < size_; ++r) {
      if (!is_here(r)) continue;
      ++on_host_;
      rank_on_host_ += r < rank_;
    }
  }

  const char* kind() const override { return "MPI"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int ranks_on_host() const override { return on_host_; }
  int rank_on_host() const override { return rank_on_host_; }

  void broadcast(void* data, std::size_t num_bytes, int root) override {
    constexpr std::size_t kPart = std::size_t{1} << 30;
    for (std::size_t at = 0; at < num_bytes; at += kPart) {
      MPI_Request request;
      check(MPI_Ibcast(static_cast<char*>(data) + at, count_of(std::min(kPart, num_bytes - at)),
                       MPI_BYTE, root, data_, &request),
            "broadcast");
      wait(&request, 1, -1);
    }
  }

  void gather(const void* mine, void* all, std::size_t bytes_each) override {
    MPI_Request request;
    check(MPI_Iallgather(mine, count_of(bytes_each), MPI_BYTE, all, count_of(bytes_each), MPI_BYTE,
                         data_, &request),
          "gather");
    wait(&request, 1, -1);
  }

  void start_swap(int slot, int peer, const void* out, std::size_t out_bytes, void* in,
                  std::size_t in_bytes) override {
    auto& requests = slots_.at(static_cast<std::size_t>(slot));
    peers_.at(static_cast<std::size_t>(slot)) = peer;
    const int tag = 16 + slot;
    if (in_bytes) {
      check(MPI_Irecv(in, count_of(in_bytes), MPI_BYTE, peer, tag, data_, &requests[0]), "receive");
    }
    if (out_bytes) {
      check(MPI_Isend(out, count_of(out_bytes), MPI_BYTE, peer, tag, data_, &requests[1]), "send");
    }
  }

  void finish_swap(int slot) override {
    const auto at = static_cast<std::size_t>(slot);
    wait(slots_.at(at).data(), 2, peers_[at]);
  }

  void wait_for(const std::function<bool()>& done) override { wait_until(done, -1); }

  std::string report_failure(const std::string& message) noexcept override {
    std::array<char, kMessageBytes> text{};
    std::strncpy(text.data(), message.c_str(), text.size() - 1);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, 0, kFailureTag, control_,
              &request);
    const Timer timer;
    while (timer.elapsed_s() < kFarewellS && !is_gone(0)) {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      usleep(20'000);
    }
    // Where rank 0 is gone, whoever noticed first has said why, and the launcher is about to end this
    // process too, which it may have woken for that. Only where it does not, there is more to say.
    usleep(kLauncherEnds_us);
    return message;
  }

  void abort(int code) noexcept override { MPI_Abort(MPI_COMM_WORLD, code); }

  bool is_finished() const override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized != 0;
  }

  void finish() override {
    if (is_finished()) return;  // by the program
    MPI_Request request;
    check(MPI_Ibarrier(data_, &request), "meet at the end");
    wait(&request, 1, -1);
    if (is_owner_) finalize();
  }

 private:
  struct Process {
    long id = 0;
    std::array<char, 256> host{};
  };

  // PMIx says goodbye to the launcher and waits 2 s for its answer. A launcher that the machine
  // left no time may find the process gone before it reads the goodbye, takes that for a failure
  // and ends the run: who was not answered gives it time to read.
  static void finalize() {
    const Timer timer;
    MPI_Finalize();
    if (timer.elapsed_s() > kAnswerS) usleep(kLingerUs);
  }

  bool is_here(int r) const { return processes_[r].host == processes_[rank_].host; }
  bool is_gone(int r) const noexcept {
    return r != rank_ && is_here(r) && kill(static_cast<pid_t>(processes_[r].id), 0) != 0 &&
           errno == ESRCH;
  }
  std::string name(int r) const {
    return "rank " + std::to_string(r) + " (process " + std::to_string(processes_[r].id) + " on " +
           processes_[r].host.data() + ")";
  }

  void look_for_failures() {
    int found = 0;
    MPI_Status status;
    if (rank_ == 0 &&
        MPI_Iprobe(MPI_ANY_SOURCE, kFailureTag, control_, &found, &status) == MPI_SUCCESS &&
        found) {
      std::array<char, kMessageBytes> text{};
      MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_BYTE, status.MPI_SOURCE, kFailureTag,
               control_, MPI_STATUS_IGNORE);
      fail(ExitCode::kCommunication, "rank ", status.MPI_SOURCE, ": ", text.data());
    }
  }

  // Until all requests are done. `peer` is who has to act, -1 for all.
  void wait(MPI_Request* requests, int count, int peer) {
    wait_until(
        [&] {
          int done = 0;
          check(MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE), "exchange data");
          return done != 0;
        },
        peer);
  }

  template <class Done>
  void wait_until(const Done& done, int peer) {
    const Timer timer;
    double looked_s = 0;
    for (std::uint64_t turn = 0;; ++turn) {
      if (done()) return;
      if (turn < 256) continue;
      sched_yield();  // ranks may share a core
      const double now_s = timer.elapsed_s();
      if (now_s > 0.05) usleep(100);
      if (now_s - looked_s < kLookS) continue;
      looked_s = now_s;
      if (!processes_.empty() && processes_[rank_].id) {
        look_for_failures();
        for (int r = 0; r < size_; ++r) {
          if (is_gone(r)) fail(ExitCode::kCommunication, name(r), " ended in the middle");
        }
      }
      if (now_s > timeout_s_) {
        const std::string who = peer >= 0 ? name(peer) : "some rank";
        fail(ExitCode::kCommunication, who, " said nothing for ", static_cast<int>(timeout_s_),
             " s: see whether it hangs, or set TILEWAVE_TIMEOUT_S higher");
      }
    }
  }

  bool is_owner_;
  MPI_Comm data_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, on_host_ = 0, rank_on_host_ = 0;
  double timeout_s_ = kTimeoutS;
  std::vector<Process> processes_;
  std::array<std::array<MPI_Request, 2>, kSlots> slots_;
  std::array<int, kSlots> peers_{};
};

}  // namespace
}  // namespace tilewave::runtime

extern "C" __attribute__((visibility("default"))) tilewave::runtime::Ranks* tilewave_join_ranks(
    std::string* problem) {
  try {
    int provided = 0, started = 0;
    MPI_Initialized(&started);  // by a program with messages of its own
    if (!started &&
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
      *problem = "MPI_Init failed";
      return nullptr;
    }
    return new tilewave::runtime::MpiRanks(!started);
  } catch (const std::exception& e) {
    *problem = e.what();
    return nullptr;
  }
}
