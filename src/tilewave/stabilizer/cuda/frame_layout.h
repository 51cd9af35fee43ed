// How a frame program is laid out on a GPU: where the threads of a block must meet, and which noise
// operations are drawn ahead together (frame_machine.cuh). Plain data made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/cuda/frame_device.h"

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
      : p_(p), lanes_(lanes), most_events_(most_events), slots_(p.num_slots) {
    emit(0, p.ops.size());
    place_barriers();
    place_windows();
  }

 private:
  static constexpr std::uint64_t kMostTogether = 4;  // iterations of a loop

  static bool is_loop(FrameCode c) { return c == FrameCode::kLoop || c == FrameCode::kLoopEnd; }
  static bool is_noise(FrameCode c) {
    return c == FrameCode::kPauli1 || c == FrameCode::kPauli2 || c == FrameCode::kHerald ||
           c == FrameCode::kRecordFlip || c == FrameCode::kSites;
  }

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
  // both read or both XOR.
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
  struct Row {
    std::uint32_t epoch = 0;
    Touch touch = Touch::kNone;
  };
  bool touch(Row& row, Touch how) {
    if (row.epoch != epoch_) row = {epoch_, Touch::kNone};
    const bool free = row.touch == Touch::kNone || (row.touch == how && how != Touch::kWrite);
    row.touch = how;
    return free;
  }
  // False when something was touched before in another way.
  bool touch_all(const FrameOp& op) {
    const std::uint32_t* t = p_.operands.data() + op.first;
    bool free = true;
    const auto slots = [&](std::uint32_t count, Touch how, std::uint32_t step = 1) {
      for (std::uint32_t k = 0; k < count; ++k)
        free &= touch(slots_[t[k * step] & 0xFFFFFFFu], how);
    };
    const auto records = [&](Touch how) { free &= touch(records_, how); };
    switch (op.code) {
      case FrameCode::kControlled:
      case FrameCode::kSwap:
        slots(2 * op.count, Touch::kWrite);
        break;
      case FrameCode::kMeasure:
        slots(op.count, Touch::kRead);
        records(Touch::kWrite);
        break;
      case FrameCode::kCoin:
      case FrameCode::kClear:
      case FrameCode::kPermute:
      case FrameCode::kCorrelated:
        slots(op.count, Touch::kWrite);
        break;
      case FrameCode::kPauli1:
        slots(op.count, Touch::kXor);
        break;
      case FrameCode::kPauli2:
        slots(2 * op.count, Touch::kXor);
        break;
      case FrameCode::kHerald:
        slots(op.count, Touch::kXor);
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
        slots(op.count, Touch::kWrite, 2);
        records(Touch::kRead);
        break;
      case FrameCode::kDetector:
      case FrameCode::kObservable:
        records(Touch::kRead);
        break;
      case FrameCode::kObservablePauli:
        ++t;
        slots(1, Touch::kRead);
        break;
      default:  // loops; sweep bits, which are zeros; leakage, which make_shot_source refuses for GPUs
        break;
    }
    return free;
  }

  bool touch_sites(const FrameOp& op) {
    bool free = true;
    const auto slot = [&](std::uint32_t target) {
      free &= touch(slots_[target & 0xFFFFFFFu], Touch::kXor);
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
        case SiteKind::kLeak:
        case SiteKind::kLeakPair:
          break;  // make_shot_source refuses for GPUs
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
                               d.list, d.room, 1});
          } else {
            const std::uint32_t first = k * d.op.segment;
            streams.push_back({p_.channels[d.op.channel].inv_log, 0,
                               std::min(d.op.segment, d.op.count - first) * 32, tick + k, first,
                               used, d.op.channel, d.list, d.room, 0});
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
    if (op.count >= kMostListTargets || op.ticks == 0) return 0;
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

  const FrameProgram& p_;
  std::uint32_t lanes_, most_events_;
  std::uint32_t epoch_ = 1;
  std::vector<Row> slots_;
  Row records_;
};

}  // namespace tilewave::stabilizer
