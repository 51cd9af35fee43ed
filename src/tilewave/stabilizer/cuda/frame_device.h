// What the GPU's frame kernel reads: the program with the places where threads meet and the noise
// that is drawn ahead (frame_machine.cuh). Made by frame_layout.h.
#pragma once

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
};
struct DrawWindow {
  std::uint32_t first_stream, num_streams, num_lists;
};

/// An event in a list: target (or site of the operation) | shot << 18 | branch << 23 | lane << 27.
constexpr std::uint32_t kMostListTargets = 1u << 18;

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
  std::uint32_t num_ops, num_slots, log_lanes, list_room;
  std::uint64_t ring, num_detectors, num_rows, num_units;
};

}  // namespace tilewave::stabilizer
