#include "tilewave/runtime/host_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tilewave/base/environment.h"
#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {
namespace {

constexpr double kLimit_s = 7;  // as of TcpWatch
// A first thread that waits gives up after TILEWAVE_TIMEOUT_S and says so by itself.
constexpr double kBehindWaiting_s = 1;
constexpr double kLongestTick_s = 0.5;
constexpr std::chrono::milliseconds kLook{250};
constexpr useconds_t kSpeakerStays_us = 600'000, kOthersStay_us = 1'200'000;

struct Place {
  long id = 0;
  std::array<char, 256> host{};
};

}  // namespace

bool is_stopped(long process_id) {
  std::ifstream file("/proc/" + std::to_string(process_id) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == text.npos || name_end + 2 >= text.size()) return false;
  const char state = text[name_end + 2];
  return state == 'T' || state == 't';
}

HostWatch::HostWatch(Ranks& ranks) : rank_(ranks.rank()) {
  const char* const given = std::getenv("TILEWAVE_TIMEOUT_S");
  limit_s_ = seconds_from("TILEWAVE_TIMEOUT_S", kLimit_s);
  behind_s_ = given && *given ? kBehindWaiting_s : 0;
  Place mine;
  mine.id = getpid();
  gethostname(mine.host.data(), mine.host.size() - 1);
  host_ = mine.host.data();
  std::vector<Place> all(static_cast<std::size_t>(ranks.size()));
  ranks.gather(&mine, all.data(), sizeof mine);
  for (int r = 0; r < ranks.size(); ++r) {
    const Place& other = all[static_cast<std::size_t>(r)];
    if (r != rank_ && other.host == mine.host) others_.push_back({r, other.id});
  }
  if (!others_.empty()) thread_ = start_thread([this] { run(); });
}

HostWatch::~HostWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HostWatch::run() {
  Timer since;
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kLook, [this] { return is_over_; })) {
    const double s = std::min(since.elapsed_s(), kLongestTick_s);
    since.reset();
    for (Process& p : others_) {
      p.stopped_s = is_stopped(p.id) ? p.stopped_s + s : 0;
      if (p.stopped_s > limit_s_ + behind_s_) end(p);
    }
  }
}

void HostWatch::end(const Process& stopped) const {
  bool speaks = true;
  for (const Process& p : others_) speaks = speaks && (p.rank > rank_ || p.stopped_s > 0);
  if (speaks) {
    std::fprintf(stderr,
                 "error: rank %d (process %ld on %s) said nothing for %d s: see whether it hangs, "
                 "or set TILEWAVE_TIMEOUT_S higher\n",
                 stopped.rank, stopped.id, host_.c_str(), static_cast<int>(limit_s_));
    std::fflush(stderr);
  }
  // The first threads may find next that others are gone: that is not the cause. All have seen it
  // before one ends.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  usleep(speaks ? kSpeakerStays_us : kOthersStay_us);
  remove_unfinished_files();
  std::_Exit(static_cast<int>(ExitCode::kCommunication));
}

}  // namespace tilewave::runtime
