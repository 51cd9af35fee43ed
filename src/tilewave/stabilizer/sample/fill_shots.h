// Shots for memory: blocks of a source one by one, every thread into its own part of what a caller
// keeps. For files run_shots() (sampler.h) puts them in order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

/// The GPUs of a device in words. Throws Error(kUsage) for one that is none, and for CPU and GPUs
/// together.
std::vector<int> shot_gpus(const std::string& device);

/// Throws Error(kUsage) where shots [first, first + count) go beyond 2^52, where their numbers end;
/// `advice` says what to do.
void check_shot_numbers(std::uint64_t first, std::uint64_t count, const char* advice);

/// `rows` of a block, row_stride() bytes apart: shots [first, first + count) of those asked for, or
/// `count` of them, in order, where some are discarded.
struct FilledRows {
  const std::uint8_t* rows;
  std::uint64_t first, count;
  int thread;
};

/// Makes shots [first, first + count) of the sequence of a seed and gives them to `take`, which
/// several threads call at a time, once a block. Shots with one of the bits of `must_be_zero` (b at
/// word b / 64) are discarded; empty: none are. 64 bytes behind the last row may be read. Throws as
/// check_shot_numbers(), and what an interrupt or `take` throws.
void fill_shots(ShotSource& source, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                int num_threads, const std::function<void(const FilledRows&)>& take,
                const std::vector<std::uint64_t>& must_be_zero = {});

}  // namespace tilewave::stabilizer
