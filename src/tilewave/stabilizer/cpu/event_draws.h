// The rare events of one noise operation for a whole batch of shots: noise.h's streams, drawn side
// by side in vectors instead of one after the other. An item is a stream of a unit; every pass
// makes two draws for each item that is not at its end, so a pass yields at most two events an item
// and the last one none. The events are exactly those of RareEvents and RareSites, in another
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tilewave/stabilizer/noise.h"

namespace tilewave::stabilizer {

/// What both kinds of draws share. `Draws` says what a draw of an item is, one by one and in
/// vectors.
template <class Draws, class Streams>
class StreamDraws {
 public:
  static constexpr std::uint32_t kItems = 256;

  /// Draws on; false when all events have been drawn.
  bool next() {
    while (true) {
      if (active_ == 0 && !refill()) return false;
      count_ = pass();
      ++draw_;
      if (count_ > 0) return true;
    }
  }

  /// Events of the last pass.
  std::size_t size() const { return count_; }
  std::uint32_t unit(std::size_t k) const { return event_unit_[k]; }
  /// 24 random bits.
  std::uint32_t bits(std::size_t k) const { return bits_[k]; }

 protected:
  StreamDraws(const Streams& streams, std::uint64_t num_streams)
      : s_(streams), num_items_(num_streams * streams.units) {}

  Streams s_;
  std::uint32_t active_ = 0, draw_ = 0;
  // Items still drawing.
  alignas(64) std::uint32_t unit_[kItems + 16];
  alignas(64) std::uint32_t stream_[kItems + 16];
  alignas(64) double at_[kItems + 16];  // where the item's next trial is
  // Events.
  alignas(64) std::uint32_t event_unit_[2 * kItems + 16];
  alignas(64) std::uint32_t bits_[2 * kItems + 16];

 private:
  Draws& self() { return static_cast<Draws&>(*this); }
  bool refill();
  std::size_t pass();
  std::size_t pass_plain();

  std::uint64_t num_items_, first_item_ = 0;
  std::size_t count_ = 0;
};

/// What is drawn: stream k of unit u has the trials of targets [k * segment, min(.. + segment,
/// count)), 32 a target, at tick + k.
struct NoiseStreams {
  std::uint32_t key0 = 0, key1 = 0;
  std::uint64_t first_unit = 0, tick = 0;
  std::uint32_t units = 0, segment = 0, count = 0;
  double inv_log = 0;  ///< 1 / log(1 - p)
};

class EventDraws : public StreamDraws<EventDraws, NoiseStreams> {
 public:
  explicit EventDraws(const NoiseStreams& streams)
      : StreamDraws(streams, (streams.count + streams.segment - 1) / streams.segment) {}

  std::uint32_t target(std::size_t k) const { return static_cast<std::uint32_t>(trial_[k] >> 5); }
  std::uint32_t bit(std::size_t k) const { return 1u << (trial_[k] & 31); }

 private:
  friend StreamDraws;
  void begin(std::uint32_t /*item*/) {}
  void keep(std::uint32_t /*item*/, std::uint32_t /*as*/) {}
  bool draw(std::uint32_t item, const std::uint32_t* words, double& at, std::size_t event);
  std::size_t pass_avx512();

  alignas(64) std::uint64_t trial_[2 * kItems + 16];  // of events
};

/// The same for a list of sites: its streams are those of noise.h's RareSites.
struct SiteStreams {
  std::uint32_t key0 = 0, key1 = 0;
  std::uint64_t first_unit = 0, tick = 0;
  std::uint32_t units = 0;
  std::span<const SiteStream> streams;
  const double* ends = nullptr;  ///< of the first site of the program
  const SiteRate* rates = nullptr;
};

class SiteDraws : public StreamDraws<SiteDraws, SiteStreams> {
 public:
  explicit SiteDraws(const SiteStreams& streams) : StreamDraws(streams, streams.streams.size()) {}

  std::uint32_t site(std::size_t k) const { return site_[k]; }  ///< of the program
  std::uint32_t bit(std::size_t k) const { return bit_[k]; }

 private:
  friend StreamDraws;
  void begin(std::uint32_t item) { total_[item] = s_.streams[stream_[item]].total; }
  void keep(std::uint32_t item, std::uint32_t as) { total_[as] = total_[item]; }
  bool draw(std::uint32_t item, const std::uint32_t* words, double& at, std::size_t event);
  std::size_t pass_avx512();

  alignas(64) double total_[kItems + 16];  // of the item's stream
  std::uint32_t site_[2 * kItems + 16];    // of events
  std::uint32_t bit_[2 * kItems + 16];
};

}  // namespace tilewave::stabilizer
