// The file of a device's measured rates, as `tilewave tune` writes it, and the one place where
// every front end finds it: $TILEWAVE_RATES, or else the folder "rates" of the user's cache
// (runtime/cost_cache.h). The engines say which numbers they know (NumberInfo), this file knows none
// of them.
//
// A file that is there is used or refused with an error, never left out silently.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/statevec/plan/precision.h"

namespace tilewave::statevec::rates {

/// What a number of an engine's cost model is, for files, for the manual and for messages.
struct NumberInfo {
  const char* name;
  const char* unit;
  const char* meaning;
  const char* measured;  ///< how
};

/// The numbers of a struct that has nothing but such, in their order: as files keep them, and back.
template <class Numbers>
std::vector<double> flat_of(const Numbers& numbers) {
  const auto all = std::bit_cast<std::array<double, sizeof(Numbers) / sizeof(double)>>(numbers);
  return {all.begin(), all.end()};
}
template <class Numbers>
Numbers from_flat(std::span<const double> flat) {
  std::array<double, sizeof(Numbers) / sizeof(double)> all{};
  TW_CHECK(flat.size() == all.size(), "the numbers are those of another list");
  std::copy(flat.begin(), flat.end(), all.begin());
  return std::bit_cast<Numbers>(all);
}

enum class Kind : std::uint8_t { kCpu, kCuda };
const char* word_of(Kind kind);

/// A circuit of the check that a tuning ends with.
struct Check {
  std::string circuit;
  Precision precision = Precision::kDouble;
  std::string input;  ///< "arbitrary" or "zeros"
  double predicted_s = 0;
  double measured_s = 0;  ///< median
  double spread = 0;      ///< half of the distance of its quartiles, over it
  double ratio() const { return predicted_s / measured_s; }
};
/// Predictions within this share of the measured time agree.
inline constexpr double kAgreement = 0.15;

struct RatesFile {
  Kind kind = Kind::kCpu;
  std::string device;   ///< model of the processor or the GPU, as the system names it
  std::string machine;  ///< where it was measured
  std::string date;     ///< UTC, 2026-11-26T15:04:05Z
  std::string version;  ///< of the program
  int threads = 0;      ///< of the host
  double seconds = 0;   ///< that measuring took
  double spread = 0;  ///< of repeated measurements: half the distance of quartiles, over the median
  double drift = 0;   ///< of one measurement from the begin to the end: most over least, less 1
  bool is_forced = false;
  std::vector<double> numbers[2];  ///< double and single precision, in the order of their list
  std::vector<Check> checks;
  std::string path;  ///< where it was read; empty for what is shipped

  const std::vector<double>& of(Precision p) const { return numbers[p == Precision::kSingle]; }
  std::vector<double>& of(Precision p) { return numbers[p == Precision::kSingle]; }
  /// The check that is furthest off; null without checks.
  const Check* worst() const;
  /// "NVIDIA H100 80GB HBM3, 2026-11-26".
  std::string origin() const;
};

std::string print(const RatesFile& file, std::span<const NumberInfo> list);
/// Throws Error(kInput) for what is no file of rates, one that is damaged, or one of another format
/// or version of the program; `path` is for the message. Shipped ones may be of any version.
RatesFile parse(std::string_view text, const std::string& path, std::span<const NumberInfo> list,
                bool is_shipped = false);

/// Where the rates of a device are kept: empty where the user has no folder, or TILEWAVE_RATES=off.
std::string place_of(Kind kind, const std::string& device);

/// The rates of this device that the user has measured; null where there are none. Read once a
/// process. Throws Error(kInput) for a file that is refused, Error(kUsage) where $TILEWAVE_RATES
/// names nothing that exists.
std::shared_ptr<const RatesFile> find(Kind kind, const std::string& device,
                                      std::span<const NumberInfo> list);
/// Whether find() may find any device's file: there is the folder or the file that it would look in.
bool may_find();
/// Those that come with the program; null for a device that nobody has measured.
std::shared_ptr<const RatesFile> shipped(Kind kind, const std::string& device,
                                         std::span<const NumberInfo> list);
/// While one lives, find() finds nothing: who measures the device does not ask what was measured
/// before.
class Unknown {
 public:
  Unknown();
  ~Unknown();
  Unknown(const Unknown&) = delete;
  Unknown& operator=(const Unknown&) = delete;
};
/// For tests and for who has written a file: what was read is read again.
void forget();

}  // namespace tilewave::statevec::rates
