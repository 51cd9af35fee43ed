#include "tilewave/quest/core/session.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/quest/core/quest_words.h"
#include "tilewave/quest/core/settings.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::quest {
namespace {

std::atomic<int> g_open = 0;

void leave() {
  if (g_open > 0) return;  // ended in the middle: the launcher is to notice
  try {
    if (const auto ranks = runtime::joined_ranks()) ranks->finish();
  } catch (const std::exception&) {
    std::_Exit(EXIT_FAILURE);  // another process is gone
  }
}

std::shared_ptr<runtime::Ranks> join() {
  const int size = runtime::launch().size;
  if (!std::has_single_bit(static_cast<unsigned>(std::max(size, 1)))) {
    fail(ExitCode::kUsage, "started as ", size,
         " processes, which cannot share registers: start a power of two (1, 2, 4, 8, ...)");
  }
  if (size > 1 && settings().num_ranks > 1) {
    fail(ExitCode::kUsage, "TILEWAVE_RANKS is ", settings().num_ranks, ", but each of the ", size,
         " processes is a rank already: leave it unset");
  }
  auto ranks = runtime::launched_ranks();
  if (ranks) std::atexit(leave);
  return ranks;
}

}  // namespace

const std::shared_ptr<runtime::Ranks>& processes() {
  static const std::shared_ptr<runtime::Ranks> ranks = join();
  return ranks;
}

int rank() { return processes() ? processes()->rank() : 0; }
int num_ranks() { return processes() ? processes()->size() : 1; }

int num_threads() {
  const int count = runtime::resolve_num_threads(settings().num_threads);
  if (settings().num_threads > 0 || !processes()) return count;
  return std::max(1, count / processes()->ranks_on_host());
}

void agree(void* data, std::size_t num_bytes) {
  if (processes()) processes()->broadcast(data, num_bytes, 0);
}

bool all_agree(bool value) {
  if (!processes()) return value;
  const char mine = value;
  std::vector<char> all(static_cast<std::size_t>(num_ranks()));
  processes()->gather(&mine, all.data(), 1);
  return std::all_of(all.begin(), all.end(), [](char c) { return c != 0; });
}

void open_environment() {
  (void)processes();
  ++g_open;
}

void close_environment() {
  if (g_open > 0) --g_open;
}

const char* describe_error() {
  thread_local std::string text;
  try {
    throw;
  } catch (const InvalidCall& e) {
    text = !e.words.empty() && wants_quest_words().value_or(false) ? e.words : e.what();
  } catch (const std::bad_alloc&) {
    text = "out of memory: use fewer qubits or free registers";
  } catch (const std::exception& e) {
    text = e.what();
  }
  return text.c_str();
}

}  // namespace tilewave::quest
