// How a frame program is laid out on a GPU: where the threads of a block must meet, and which noise
// operations are drawn ahead together (frame_machine.cuh). Plain data made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/cuda/frame_device.h"
#include "tilewave/stabilizer/leakage_ops.h"

namespace tilewave::stabilizer {

/// What operations since the last barrier have done to a row.
enum class Touch : std::uint8_t { kNone, kRead, kXor, kWrite };

class FrameLayout {
 public:
  std::vector<DeviceOp> ops;
  std::vector<std::uint32_t> detector_at;
  std::vector<std::uint64_t> loops;
  std::vector<DrawStream> streams;
  std::vector<DrawWindow> windows;
  std::uint32_t list_room = 0;  ///< events of the largest window

  /// `lanes` units a block, at most `most_events` events of a window kept.
  FrameLayout(const FrameProgram& p, std::uint32_t lanes, std::uint32_t most_events)
      : p_(p),
        lanes_(lanes),
        most_events_(most_events),
        slots_(p.num_slots),
        leaked_(p.has_leakage ? p.num_slots : 0) {
    emit(0, p.ops.size());
    place_barriers();
    place_windows();
  }

 private:
  static constexpr std::uint64_t kMostTogether = 4;  // iterations of a loop

  static bool is_loop(FrameCode c) { return c == FrameCode::kLoop || c == FrameCode::kLoopEnd; }
  static bool is_noise(FrameCode c) {
    return c == FrameCode::kPauli1 || c == FrameCode::kPauli2 || c == FrameCode::kHerald ||
           c == FrameCode::kRecordFlip || c == FrameCode::kSites || leaks(c) ||
           c == FrameCode::kUnleaked1 || c == FrameCode::kUnleaked2 || c == FrameCode::kFalseFlag;
  }
  static bool leaks(FrameCode c) { return c == FrameCode::kLeak || c == FrameCode::kLeakPair; }

  void add(const FrameOp& op) {
    DeviceOp d;
    d.op = op;
    if (op.code == FrameCode::kDetector) find_lists(d);
    ops.push_back(d);
  }
  // Operations [at, end) of the program, loops of noise a few iterations at a time: draws of a
  // longer window keep more threads at work.
  void emit(std::size_t at, std::size_t end) {
    while (at < end) {
      if (p_.ops[at].code != FrameCode::kLoop) {
        add(p_.ops[at++]);
        continue;
      }
      std::size_t behind = at + 1;
      double room = 0;
      bool innermost = true;
      for (int depth = 1; depth > 0; ++behind) {
        const FrameOp& op = p_.ops[behind];
        depth += op.code == FrameCode::kLoop ? 1 : op.code == FrameCode::kLoopEnd ? -1 : 0;
        innermost = innermost && op.code != FrameCode::kLoop;
        if (is_noise(op.code)) room += room_of(op);
      }
      const std::uint64_t iterations = p_.loops[p_.ops[at].first];
      std::uint64_t together = 1;
      if (innermost && room > 0)
        together =
            std::min<std::uint64_t>(kMostTogether, static_cast<std::uint64_t>(most_events_ / room));
      together = std::clamp<std::uint64_t>(together, 1, iterations);
      emit_loop(at, behind, iterations / together, together);
      if (iterations % together) emit_loop(at, behind, 1, iterations % together);
      at = behind;
    }
  }
  void emit_loop(std::size_t at, std::size_t behind, std::uint64_t times, std::uint64_t copies) {
    FrameOp loop = p_.ops[at], loop_end = p_.ops[behind - 1];
    if (times > 1) {
      loop.first = static_cast<std::uint32_t>(loops.size());
      loops.push_back(times);
      add(loop);
    }
    loop_end.first = static_cast<std::uint32_t>(ops.size());
    for (std::uint64_t k = 0; k < copies; ++k) emit(at + 1, behind - 1);
    if (times > 1) add(loop_end);
  }

  // Lists of equal length follow each other at equal distances; others are listed.
  void find_lists(DeviceOp& d) {
    const std::uint32_t first = d.op.first, size = p_.operands[first];
    bool equal = size > 0 && size < 256;
    std::uint32_t at = first;
    std::vector<std::uint32_t> starts;
    for (std::uint32_t i = 0; i < d.op.count; ++i) {
      equal = equal && p_.operands[at] == size;
      starts.push_back(at);
      at += p_.operands[at] + 1;
    }
    if (equal) {
      d.lookbacks = static_cast<std::uint8_t>(size);
      return;
    }
    d.op.channel = static_cast<std::uint32_t>(detector_at.size());
    detector_at.insert(detector_at.end(), starts.begin(), starts.end());
  }

  // A barrier before an operation that touches what one since the last barrier has touched, unless
  // both read, both XOR, or the same threads do both: those that have the target of one place in an
  // operation have that place in every operation whose targets are shared out in order.
  void place_barriers() {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (is_loop(ops[i].op.code)) {
        barrier_before(i);
      } else if (!touch_all(ops[i].op)) {
        barrier_before(i);
        touch_all(ops[i].op);
      }
    }
  }
  void barrier_before(std::size_t i) {
    if (i > 0) ops[i - 1].barrier = 1;
    ++epoch_;
    records_ = {};
  }
  static constexpr std::uint32_t kAnyone = ~std::uint32_t{0};  // among the threads
  struct Row {
    std::uint32_t epoch = 0;
    std::uint32_t place = kAnyone;
    Touch touch = Touch::kNone;
  };
  bool touch(Row& row, Touch how, std::uint32_t place = kAnyone) {
    if (row.epoch != epoch_) row = {epoch_, place, Touch::kNone};
    const bool same_threads = place != kAnyone && row.place == place;
    const bool together = row.touch == how && how != Touch::kWrite;
    const bool free = row.touch == Touch::kNone || together || same_threads;
    if (!same_threads) row.place = row.touch == Touch::kNone ? place : kAnyone;
    row.touch = row.touch == Touch::kNone || together ? how : Touch::kWrite;
    return free;
  }
  // False when something was touched before in another way.
  bool touch_all(const FrameOp& op) {
    const std::uint32_t* t = p_.operands.data() + op.first;
    bool free = true;
    // `width` slots of each target, the first `used` of them.
    const auto rows = [&](std::vector<Row>& of, Touch how, bool shared_out, std::uint32_t width,
                          std::uint32_t used) {
      for (std::uint32_t k = 0; k < op.count * width; ++k) {
        if (k % width < used)
          free &= touch(of[slot_of(t[k])], how, shared_out ? k / width : kAnyone);
      }
    };
    const auto slots = [&](Touch how, std::uint32_t width = 1, bool shared_out = true) {
      rows(slots_, how, shared_out, width, width);
    };
    const auto leaked = [&](Touch how, std::uint32_t width = 1, bool shared_out = true) {
      if (!leaked_.empty()) rows(leaked_, how, shared_out, width, width);
    };
    const auto records = [&](Touch how) { free &= touch(records_, how); };
    constexpr bool kEvents = false;  // whose threads come as they are drawn
    switch (op.code) {
      case FrameCode::kControlled:
        slots(Touch::kWrite, 2);
        break;
      case FrameCode::kSwap:
        slots(Touch::kWrite, 2);
        leaked(Touch::kWrite, 2);
        break;
      case FrameCode::kMeasure:
        slots(Touch::kRead);
        records(Touch::kWrite);
        break;
      case FrameCode::kClear:
        slots(Touch::kWrite);
        leaked(Touch::kWrite);
        break;
      case FrameCode::kPermute:
        slots(Touch::kWrite);
        break;
      case FrameCode::kCoin:
      case FrameCode::kCorrelated:
        slots(Touch::kWrite, 1, false);
        break;
      case FrameCode::kPauli1:
        slots(Touch::kXor, 1, kEvents);
        break;
      case FrameCode::kPauli2:
        slots(Touch::kXor, 2, kEvents);
        break;
      case FrameCode::kHerald:
        slots(Touch::kXor, 1, kEvents);
        records(Touch::kWrite);
        break;
      case FrameCode::kRecordFlip:
        records(Touch::kXor);
        break;
      case FrameCode::kSites:
        free = touch_sites(op);
        break;
      case FrameCode::kPad:
        records(Touch::kWrite);
        break;
      case FrameCode::kFeedback:
        rows(slots_, Touch::kWrite, true, 2, 1);
        records(Touch::kRead);
        break;
      case FrameCode::kDetector:
      case FrameCode::kObservable:
        records(Touch::kRead);
        break;
      case FrameCode::kObservablePauli:
        free &= touch(slots_[slot_of(t[1])], Touch::kRead);
        break;
      case FrameCode::kLeak:
      case FrameCode::kLeakPair: {
        const std::uint32_t width = op.code == FrameCode::kLeak ? 1 : 2;
        slots(Touch::kXor, width, kEvents);
        leaked(leak_touch(t[0]), width, kEvents);
        break;
      }
      case FrameCode::kUnleaked1:
      case FrameCode::kUnleaked2: {
        const std::uint32_t width = op.code == FrameCode::kUnleaked1 ? 1 : 2;
        slots(Touch::kXor, width, kEvents);
        leaked(Touch::kRead, width, kEvents);
        break;
      }
      case FrameCode::kFalseFlag:
        leaked(Touch::kRead, 1, kEvents);
        records(Touch::kXor);
        break;
      case FrameCode::kMissedFlag:
        leaked(Touch::kRead);
        records(Touch::kXor);
        break;
      case FrameCode::kFlag:
        leaked(Touch::kRead);
        records(Touch::kWrite);
        break;
      case FrameCode::kSeal:
        leaked(Touch::kWrite);
        break;
      case FrameCode::kSpread:
        leaked(Touch::kWrite, 2);
        break;
      case FrameCode::kScrambleSpread:
      case FrameCode::kGateSpread:
        slots(Touch::kWrite, 2);
        leaked(Touch::kWrite, 2);
        break;
      case FrameCode::kLeaked1:
      case FrameCode::kScramble:
        slots(Touch::kWrite);
        leaked(Touch::kRead);
        break;
      case FrameCode::kLeaked2:
      case FrameCode::kScramblePartner:
        slots(Touch::kWrite, 2);
        leaked(Touch::kRead, 2);
        break;
      case FrameCode::kSweep:  // of bits that are zeros
      case FrameCode::kLoop:
      case FrameCode::kLoopEnd:
        break;
    }
    return free;
  }

  // What leaks is set, in any order, unless the frame depends on what was leaked before.
  static Touch leak_touch(std::uint32_t target) {
    return scramble_of(target) == LeakScramble::kFresh ? Touch::kWrite : Touch::kXor;
  }
  bool touch_sites(const FrameOp& op) {
    bool free = true;
    const auto slot = [&](std::uint32_t target) {
      free &= touch(slots_[slot_of(target)], Touch::kXor);
    };
    const auto leak = [&](std::uint32_t target) {
      slot(target);
      free &= touch(leaked_[slot_of(target)], leak_touch(target));
    };
    for (std::uint32_t k = op.first; k < op.first + op.count; ++k) {
      const FrameSite& site = p_.sites[k];
      const std::uint32_t* t = p_.operands.data() + site.first;
      switch (site.kind) {
        case SiteKind::kPauli2:
          slot(t[1]);
          [[fallthrough]];
        case SiteKind::kPauli1:
          slot(t[0]);
          break;
        case SiteKind::kHerald:
          slot(t[1]);
          [[fallthrough]];
        case SiteKind::kRecord:
          free &= touch(records_, Touch::kXor);
          break;
        case SiteKind::kLeakPair:
          leak(t[1]);
          [[fallthrough]];
        case SiteKind::kLeak:
          leak(t[0]);
          break;
        case SiteKind::kProduct:
          for (std::uint32_t b = 0; b < p_.site_channels[site.channel].num_branches; ++b) {
            for (std::uint32_t f = 1; f <= t[0]; ++f) slot(t[f]);
            t += 1 + t[0];
          }
          break;
      }
    }
    return free;
  }

  void place_windows() {
    bool open = false;
    std::uint32_t used = 0, tick = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      DeviceOp& d = ops[i];
      if (is_loop(d.op.code)) open = false;
      const std::uint32_t room = is_noise(d.op.code) ? room_of(d.op) : 0;
      if (room > 0) {
        if (!open || used + room > most_events_ || windows.back().num_lists == kMostLists) {
          open = true, used = 0, tick = 0;
          windows.push_back({static_cast<std::uint32_t>(streams.size()), 0, 0});
          d.window = static_cast<std::uint32_t>(windows.size());
          if (i > 0) ops[i - 1].barrier = 1;
        }
        DrawWindow& w = windows.back();
        d.events = used, d.room = static_cast<std::uint16_t>(room);
        d.list = static_cast<std::uint16_t>(w.num_lists++);
        for (std::uint32_t k = 0; k < d.op.ticks; ++k) {
          if (d.op.code == FrameCode::kSites) {
            const SiteStream& s = p_.site_streams[d.op.channel + k];
            streams.push_back({-1, s.total, s.count, tick + k, s.first - d.op.first, used, s.first,
                               d.list, d.room, 1, 0});
          } else {
            const std::uint32_t first = k * d.op.segment;
            streams.push_back({p_.channels[d.op.channel].inv_log, 0,
                               std::min(d.op.segment, d.op.count - first) * 32, tick + k, first,
                               used, d.op.channel, d.list, d.room, 0,
                               d.op.code == FrameCode::kLeak});
          }
          ++w.num_streams;
        }
        used += room;
        list_room = std::max(list_room, used);
      }
      tick += d.op.ticks;
    }
  }
  // Events to keep room for; 0: the operation draws for itself.
  std::uint32_t room_of(const FrameOp& op) const {
    if (op.count == 0 || op.count >= kMostListTargets || op.ticks == 0 || is_in_order(op)) return 0;
    double mean = 0;
    if (op.code == FrameCode::kSites) {
      for (std::uint32_t k = 0; k < op.ticks; ++k)
        mean += lanes_ * p_.site_streams[op.channel + k].total;
    } else {
      mean = 32.0 * lanes_ * op.count * p_.channels[op.channel].probability;
    }
    const double room = std::ceil(mean + 6 * std::sqrt(mean) + 8);
    return room <= std::min(65000u, most_events_) ? static_cast<std::uint32_t>(room) : 0;
  }

  // Whether an event depends on one before it: of two that leak a qubit the first alone makes its
  // frame random.
  bool is_in_order(const FrameOp& op) const {
    if (!leaks(op.code)) return false;
    const std::uint32_t* t = p_.operands.data() + op.first;
    if (scramble_of(t[0]) != LeakScramble::kFresh) return false;
    std::vector<std::uint32_t> sorted(t, t + op.count * (op.code == FrameCode::kLeak ? 1 : 2));
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  }

  const FrameProgram& p_;
  std::uint32_t lanes_, most_events_;
  std::uint32_t epoch_ = 1;
  std::vector<Row> slots_, leaked_;
  Row records_;
};

}  // namespace tilewave::stabilizer
