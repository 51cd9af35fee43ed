// Whether the processes of a run live, seen from a thread of its own, so that nothing waits for
// passes to end. Rank 0 asks every other rank twice a second and each of them answers, whatever its
// first thread computes; a rank that asks or answers nothing for a while is stopped, and the run
// ends in one line that names it:
//
//   rank 0   an answer is missing, or another rank is gone or has failed: it ends the others and
//            itself
//   others   no question comes: rank 0 is the one; rank 1 says so, and each ends itself
//
// The first thread may say it, in the way of its front end, if it waits at that time; where it
// computes, the watch says it after kGrace_s. Only time in which this process runs counts: where all
// are stopped together, as a batch system may do, and go on together, nobody is missed. The watch is
// also who reads what the others say on the second connection (Word).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tilewave/runtime/socket.h"
#include "tilewave/runtime/tcp_meeting.h"

namespace tilewave::runtime {

class TcpWatch {
 public:
  static constexpr double kLimit_s = 7;  ///< of silence; with kGrace_s the run ends within 10 s
  static constexpr double kGrace_s = 1;
  static constexpr double kAnswer_s = 2;  ///< whoever lives has answered by then

  /// `control`: of rank 0 to the others, of the others to rank 0 ([0]).
  TcpWatch(int rank, std::uint64_t key, const std::vector<Member>& members,
           std::vector<Socket> control, double limit_s);
  TcpWatch(const TcpWatch&) = delete;
  TcpWatch& operator=(const TcpWatch&) = delete;
  ~TcpWatch() { stop(); }

  /// The run ends well: whoever closes its connection from now on is not missed,
  void expect_ends() { expects_ends_ = true; }
  /// and from now on nobody is.
  void finish() { is_finishing_ = true; }
  /// Ends the thread and the connections.
  void stop();

  /// What has been said or missed so far, for a process that waits. One with `text` ends the run.
  struct Trouble {
    std::string text;         ///< empty: none
    bool is_silence = false;  ///< somebody waited in vain: missing() tells who lives
  };
  Trouble trouble();
  /// The rank that has said nothing for kAnswer_s; -1: all live.
  int missing() const;
  bool root_is_gone() const { return root_is_gone_; }
  /// Others: rank 0 is stopped.
  bool root_is_silent() const { return root_is_silent_; }

  /// What is said of a rank that is stopped.
  std::string silence_of(int r) const;

  /// This process ends, and its first thread says why; does not return where the watch does already.
  void take_the_word();

  void tell_root(const Word& word);
  /// Rank 0: the run ends with this code.
  void end_others(int code) noexcept;

 private:
  void run_root();
  void run_other();
  void hear(std::size_t r);
  void note(const std::string& text, double grace_s);
  [[noreturn]] void end(const std::string& message, bool speaks);
  double tick();

  const int rank_;
  const std::uint64_t key_;
  const std::vector<Member>& members_;
  std::vector<Socket> control_;
  const double limit_s_;
  std::vector<std::atomic<double>> silent_s_;  // of every rank
  std::vector<int> unanswered_;                // questions; this and the next are the thread's
  bool is_troubled_ = false;
  double grace_s_ = 0;
  std::mutex mutex_;  // of trouble_, of what is sent, and of connections that go
  Trouble trouble_;
  std::atomic<bool> root_is_gone_ = false, root_is_silent_ = false, is_finishing_ = false,
                    expects_ends_ = false, is_over_ = false;
  enum class Speaker : std::uint8_t { kNobody, kFirstThread, kWatch };
  std::atomic<Speaker> speaker_ = Speaker::kNobody;
  std::chrono::steady_clock::time_point last_{};
  std::thread thread_;
};

}  // namespace tilewave::runtime
