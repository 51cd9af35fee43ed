// What the GPU's frame kernel reads: the program with the places where threads meet and the noise
// that is drawn ahead (frame_machine.cuh). Made by frame_layout.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewave/stabilizer/frame_program.h"

namespace tilewave::stabilizer {

constexpr std::uint32_t kMostLists = 128;  // of a window
constexpr std::uint32_t kNoList = 0xFFFF;

/// An operation with what the GPU adds to it.
struct alignas(16) DeviceOp {
  FrameOp op;
  std::uint32_t window = 0;  ///< 1 + number of the window that begins here, or 0
  std::uint32_t events = 0;  ///< where its list of events starts
  std::uint16_t room = 0;    ///< of the list
  std::uint16_t list = kNoList;
  std::uint8_t barrier = 0;    ///< threads meet behind it
  std::uint8_t lookbacks = 0;  ///< detectors: all have so many, one list behind the other; or 0
};

/// A random stream of a noise operation, see NoiseStreams; of a list of sites, see SiteStream.
struct DrawStream {
  double inv_log;        ///< what a logarithm is multiplied with: -1 for sites
  double total;          ///< sites: the length of their line
  std::uint32_t trials;  ///< or number of sites
  std::uint32_t tick;    ///< behind that of the window's start
  std::uint32_t target;  ///< the first, of the operation
  std::uint32_t events;
  std::uint32_t channel;  ///< sites: the first, of the program
  std::uint16_t list, room;
  std::uint32_t sites;  ///< whether it is of sites
  std::uint32_t
      leaks;  ///< not of sites: whether its events leak one qubit each, see event_branch()
};
struct DrawWindow {
  std::uint32_t first_stream, num_streams, num_lists;
};

/// An event in a list: target (or site of the operation) | shot << 18 | branch << 23 | lane << 27.
constexpr std::uint32_t kMostListTargets = 1u << 18;

/// What an event's 24 random bits say: the branch of its channel; where one qubit leaks, which is
/// the only branch, the Pauli x + 2 z for its frame.
[[gnu::always_inline]] TW_HD std::uint32_t event_branch(bool leaks, const FrameChannel& c,
                                                        std::uint32_t bits) {
  return leaks ? bits & 3 : branch_of(c, bits);
}

constexpr std::uint32_t kStagedOps = 128;  // a program of so many operations lies in shared memory
constexpr int kMaxLoops = 16;              // inside each other

/// The shared words beside the rows: operations, a chain word a lane, counts, events; rows start at
/// a multiple of 16 bytes.
TW_HD constexpr std::size_t words_beside(std::uint32_t lanes, std::size_t list_room,
                                         std::size_t num_ops) {
  return ((num_ops <= kStagedOps ? num_ops : 0) * (sizeof(DeviceOp) / 4) + lanes + kMostLists +
          list_room + 3) /
         4 * 4;
}

/// Rows of a block, of a word a lane: x and z of every slot, and the ring of records where it is not
/// the output. With leakage, a byte of every slot and quad of lanes says which of its four words have
/// leaked shots; these words, a row of every slot, are few and read seldom, so they lie in global
/// memory and leave shared memory to more blocks.
struct FrameRows {
  std::uint64_t marks, end, leaked;  ///< where the bytes begin, how many rows, rows of leaked shots
  explicit FrameRows(const FrameProgram& p)
      : marks(2 * std::uint64_t{p.num_slots} +
              (p.output == FrameOutput::kRecords ? 0 : p.ring_rows)),
        end(marks + (p.has_leakage ? (std::uint64_t{p.num_slots} + 15) / 16 : 0)),
        leaked(p.has_leakage ? p.num_slots : 0) {}
};

struct FrameView {
  const DeviceOp* ops;
  const std::uint32_t* operands;
  const FrameChannel* channels;
  const std::uint64_t* loops;
  const std::uint32_t*
      detector_at;  // of detector operations without `lookbacks`: where lists start
  const DrawStream* streams;
  const DrawWindow* windows;
  const FrameSite* sites;
  const double* site_ends;
  const SiteRate* site_rates;
  const SiteStream* site_streams;
  const FrameChannel* site_channels;
  const std::uint64_t* leak_thresholds;
  std::uint64_t marks, leaked;  // rows, see FrameRows
  std::uint32_t num_ops, num_slots, log_lanes, list_room;
  std::uint64_t ring, num_detectors, num_rows, num_units;
};

}  // namespace tilewave::stabilizer
