#include "tilewave/stabilizer/sample/post_select.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/stabilizer/sample/fill_shots.h"

namespace tilewave::stabilizer {

std::vector<std::uint64_t> post_selection_mask(std::string_view words,
                                               std::uint64_t num_detectors) {
  // A word at least: an empty mask is no post-selection.
  std::vector<std::uint64_t> mask(std::max<std::uint64_t>(1, (num_detectors + 63) / 64));
  const auto set = [&](std::uint64_t first, std::uint64_t last) {
    if (last >= num_detectors) {
      tilewave::fail(ExitCode::kUsage, "there is no detector ", last,
                     " to post-select on: the circuit has ", num_detectors);
    }
    for (std::uint64_t d = first; d <= last; ++d) mask[d / 64] |= std::uint64_t{1} << (d % 64);
  };
  if (words == "all") {
    if (num_detectors > 0) set(0, num_detectors - 1);
    return mask;
  }
  constexpr std::string_view kBetween = ", \t\r\n";
  bool any = false;
  while (true) {
    words.remove_prefix(std::min(words.find_first_not_of(kBetween), words.size()));
    if (words.empty()) break;
    const std::string_view word = words.substr(0, words.find_first_of(kBetween));
    const auto fail = [&] {
      tilewave::fail(ExitCode::kUsage, "'", word,
                     "' names no detectors to post-select on: use all, numbers and ranges such as "
                     "0,3,5-8, or a file of these");
    };
    const char *at = word.data(), *end = at + word.size();
    const auto number = [&] {
      if (at < end && (*at == 'D' || *at == 'd')) ++at;
      std::uint64_t value = 0;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error == std::errc::result_out_of_range) {
        tilewave::fail(ExitCode::kUsage, "there is no detector ", std::string_view(at, next),
                       " to post-select on: the circuit has ", num_detectors);
      }
      if (error != std::errc{}) fail();
      at = next;
      return value;
    };
    const std::uint64_t first = number();
    std::uint64_t last = first;
    if (at < end && *at == '-') ++at, last = number();
    if (at != end || last < first) fail();
    set(first, last);
    any = true;
    words.remove_prefix(word.size());
  }
  if (!any) tilewave::fail(ExitCode::kUsage, "no detectors to post-select on are named");
  return mask;
}

// Nearly all bytes of kept rows are 0, so seven are looked at together.
void add_ones(const std::uint8_t* rows, std::uint64_t stride, std::uint64_t count,
              std::uint64_t first_bit, std::span<std::uint64_t> ones) {
  constexpr std::uint64_t kTogether = 56;  // that many bits from anywhere in a byte are in a word
  for (std::uint64_t k = 0; k < ones.size(); k += kTogether) {
    const std::uint64_t bits = std::min(kTogether, ones.size() - k), first = first_bit + k;
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    const std::uint8_t* row = rows + first / 8;
    for (std::uint64_t s = 0; s < count; ++s, row += stride) {
      std::uint64_t word;
      std::memcpy(&word, row, sizeof word);
      for (word = (word >> (first % 8)) & mask; word; word &= word - 1)
        ++ones[k + static_cast<std::uint64_t>(__builtin_ctzll(word))];
    }
  }
}

namespace {

// Calls get longer until one takes a quarter of a second: between them an interrupt is seen.
bool count_where_made(ShotSource& source, const SampleOptions& options,
                      const std::function<bool(std::uint64_t)>& progress, KeptShots& out) {
  constexpr double kCallSeconds = 0.25;
  if (!source.count_kept({options.seed, options.first_shot, 0}, options.must_be_zero, out.kept,
                         out.ones))
    return false;
  std::uint64_t now = source.block_shots();
  while (out.attempted < options.num_shots) {
    check_interrupt();
    const runtime::Timer timer;
    now = std::min(now, options.num_shots - out.attempted);
    source.count_kept({options.seed, options.first_shot + out.attempted, now}, options.must_be_zero,
                      out.kept, out.ones);
    out.attempted += now;
    if (!progress(out.attempted)) break;
    if (timer.elapsed_s() < kCallSeconds) now *= 2;
  }
  return true;
}

}  // namespace

KeptShots count_kept(ShotSource& source, const SampleOptions& options,
                     const std::function<bool(std::uint64_t)>& progress) {
  check_shot_numbers(options.first_shot, options.num_shots,
                     "use a smaller --first_shot or --shots");
  KeptShots out;
  out.ones.resize(8 * source.row_bytes() + 8);
  if (options.num_shots == 0) return out;
  if (count_where_made(source, options, progress, out)) return out;
  const std::uint64_t block = source.block_shots(), stride = source.row_stride();
  const std::uint64_t bytes = std::min(source.row_bytes(), stride);
  const std::uint64_t begin = options.first_shot, end = begin + options.num_shots;
  const std::uint64_t end_block = (end - 1) / block + 1;
  std::uint64_t next = begin / block;
  bool stopped = false;
  std::mutex mutex;
  StopFlag stop;
  const auto threads = static_cast<int>(std::min<std::uint64_t>(
      static_cast<std::uint64_t>(threads_for(source, options.num_threads)), end_block - next));
  runtime::run_on_threads(threads, [&](int thread) {
    const StopFlag::Scope scope(stop);
    const std::shared_ptr<std::uint8_t[]> rows = source.row_memory(block * stride + 64);
    KeptShots mine;
    mine.ones.resize(out.ones.size());
    std::unique_lock lock(mutex);
    while (!stopped && next < end_block && !stop.wanted()) {
      const std::uint64_t b = next++;
      lock.unlock();
      const std::uint64_t from = std::max(begin, b * block) - b * block,
                          to = std::min(end, (b + 1) * block) - b * block;
      const std::uint64_t kept =
          source.fill_kept(options.seed, b, from, to, thread, options.must_be_zero, rows.get());
      mine.kept += kept;
      add_ones(rows.get(), stride, kept, 0, std::span(mine.ones).first(8 * bytes));
      lock.lock();
      out.attempted += to - from;
      if (!progress(out.attempted)) stopped = true;
    }
    out.kept += mine.kept;
    for (std::size_t k = 0; k < mine.ones.size(); ++k) out.ones[k] += mine.ones[k];
  });
  stop.rethrow();
  return out;
}

}  // namespace tilewave::stabilizer
