#include "tilewave/runtime/tcp_watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {
namespace {

constexpr double kAsk_s = 0.5;        // between questions
constexpr int kLook_ms = 100;         // between looks
constexpr double kLongestTick = 0.5;  // what is longer is time in which this process did not run
constexpr int kMostUnanswered = 16;   // a rank that is stopped has room for many more
// For the first thread of rank 0, which may be about to find the same and say it better.
constexpr double kLongGrace_s = 5;
constexpr double kSend_s = 0.2;  // for a word
// Rank 0 is given up later than the others: it may be about to say which of them is missing.
constexpr double kRootLonger_s = 1;

}  // namespace

TcpWatch::TcpWatch(int rank, std::uint64_t key, const std::vector<Member>& members,
                   std::vector<Socket> control, double limit_s)
    : rank_(rank),
      key_(key),
      members_(members),
      control_(std::move(control)),
      limit_s_(limit_s),
      silent_s_(members.size()),
      unanswered_(members.size()) {
  last_ = std::chrono::steady_clock::now();
  thread_ = start_thread([this] { rank_ == 0 ? run_root() : run_other(); });
}

void TcpWatch::stop() {
  is_finishing_ = is_over_ = true;
  if (thread_.joinable()) {
    for (const Socket& s : control_) s.shut();  // wakes the thread
    thread_.join();
  }
  control_.clear();
}

// The time since the last call that this process ran.
double TcpWatch::tick() {
  const auto now = std::chrono::steady_clock::now();
  const double s = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  return std::min(s, kLongestTick);
}

std::string TcpWatch::silence_of(int r) const {
  return members_[static_cast<std::size_t>(r)].name() + " said nothing for " +
         std::to_string(static_cast<int>(limit_s_)) +
         " s: see whether it hangs, or set TILEWAVE_TIMEOUT_S higher";
}

// ---- rank 0 ----

void TcpWatch::run_root() {
  const Word ask = word_of(key_, Word::kAsk);
  double asked_s = kAsk_s, troubled_s = 0;
  while (!is_over_) {
    std::vector<pollfd> all;
    for (const Socket& s : control_) {
      // poll() leaves out what is negative
      all.push_back({s.is_open() ? s.get() : -1, POLLIN, 0});
    }
    (void)poll(all.data(), all.size(), kLook_ms);
    const double s = tick();
    asked_s += s;
    const bool asks = asked_s >= kAsk_s;
    if (asks) asked_s = 0;
    for (std::size_t r = 1; r < control_.size() && !is_over_; ++r) {
      if (!control_[r].is_open()) continue;
      silent_s_[r] = silent_s_[r] + s;
      if (all[r].revents) hear(r);
      if (!control_[r].is_open()) continue;
      if (asks && unanswered_[r] < kMostUnanswered) {
        const std::lock_guard lock(mutex_);
        (void)control_[r].send_all(&ask, sizeof ask, kSend_s);
        ++unanswered_[r];
      }
      if (silent_s_[r] > limit_s_) note(silence_of(static_cast<int>(r)), kGrace_s);
    }
    if (!is_troubled_ || is_finishing_) continue;
    troubled_s += s;
    if (troubled_s > grace_s_) end(trouble().text, true);
  }
}

void TcpWatch::hear(std::size_t r) {
  Word word;
  if (!control_[r].has_data()) {
    if (!control_[r].is_closed()) return;
    if (!expects_ends_) {
      note(members_[r].name() + " ended in the middle", kLongGrace_s);
    }
    const std::lock_guard lock(mutex_);
    control_[r] = {};
    return;
  }
  if (!control_[r].receive_all(&word, sizeof word, 1) || !word.is_sound(key_)) return;
  silent_s_[r] = 0;
  unanswered_[r] = 0;
  const std::string text = "rank " + std::to_string(r) + ": " + word.text.data();
  if (word.kind == Word::kFailed) note(text, kLongGrace_s);
  if (word.kind == Word::kSilence) {
    const std::lock_guard lock(mutex_);
    if (trouble_.text.empty()) trouble_ = {text, true};
  }
}

// The run is to end, in the words of what was noticed first.
void TcpWatch::note(const std::string& text, double grace_s) {
  if (is_troubled_) return;
  is_troubled_ = true;
  grace_s_ = grace_s;
  const std::lock_guard lock(mutex_);
  trouble_ = {text, false};
}

// ---- the others ----

void TcpWatch::run_other() {
  const Socket& root = control_[0];
  const Word answer = word_of(key_, Word::kAnswer);
  std::atomic<double>& silent_s = silent_s_[0];
  while (!is_over_) {
    pollfd p{root.get(), POLLIN, 0};
    (void)poll(&p, 1, kLook_ms);
    silent_s = silent_s + tick();
    Word word;
    if (root.has_data()) {
      if (!root.receive_all(&word, sizeof word, 1) || !word.is_sound(key_)) break;
      silent_s = 0;
      if (word.kind == Word::kEnd && word.code) std::_Exit(word.code);
      if (word.kind == Word::kAsk) tell_root(answer);
    } else if (root.is_closed()) {
      break;
    }
    if (silent_s <= limit_s_ + kRootLonger_s || is_finishing_) continue;
    root_is_silent_ = true;
    const Timer timer;
    while (timer.elapsed_s() < kGrace_s && speaker_ == Speaker::kNobody && !is_over_)
      usleep(20'000);
    if (!is_over_) end("rank " + std::to_string(rank_) + ": " + silence_of(0), rank_ == 1);
  }
  if (!is_over_) root_is_gone_ = true;
}

// ---- what both do, and what the first thread asks ----

void TcpWatch::end(const std::string& message, bool speaks) {
  constexpr int kCode = static_cast<int>(ExitCode::kCommunication);
  constexpr double kOwnEnd_s = 20;
  Speaker nobody = Speaker::kNobody;
  if (!speaker_.compare_exchange_strong(nobody, Speaker::kWatch)) {
    const Timer timer;  // the first thread says it, and ends the process
    while (timer.elapsed_s() < kOwnEnd_s && !is_over_) usleep(20'000);
  } else if (speaks) {
    std::fprintf(stderr, "error: %s\n", message.c_str());
    std::fflush(stderr);
  }
  remove_unfinished_files();
  if (rank_ == 0) end_others(kCode);
  std::_Exit(kCode);
}

void TcpWatch::take_the_word() {
  Speaker nobody = Speaker::kNobody;
  if (speaker_.compare_exchange_strong(nobody, Speaker::kFirstThread)) return;
  while (speaker_ == Speaker::kWatch) usleep(20'000);  // the process is about to end
}

TcpWatch::Trouble TcpWatch::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

int TcpWatch::missing() const {
  for (std::size_t r = 1; r < silent_s_.size(); ++r) {
    if (silent_s_[r] > kAnswer_s) return static_cast<int>(r);
  }
  return -1;
}

void TcpWatch::tell_root(const Word& word) {
  const std::lock_guard lock(mutex_);
  if (!control_.empty()) (void)control_[0].send_all(&word, sizeof word, 1);
}

void TcpWatch::end_others(int code) noexcept {
  Word word = word_of(key_, Word::kEnd);
  word.code = code;
  const std::lock_guard lock(mutex_);
  for (Socket& s : control_) {
    if (rank_ == 0 && s.is_open()) (void)s.send_all(&word, sizeof word, 1);
  }
}

}  // namespace tilewave::runtime
