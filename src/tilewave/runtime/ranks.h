// The processes of one run, as their launcher (mpirun, srun, a script) numbered them: what they say
// to each other. Every call but those named is collective: all processes make it in the same order.
// A wait ends in Error(kCommunication) that names the rank and the cause when a process has failed,
// is gone or says nothing for the time-out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilewave::runtime {

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual const char* kind() const = 0;  ///< what the processes speak: "MPI", "TCP"
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int ranks_on_host() const = 0;  ///< of this process, itself included
  virtual int rank_on_host() const = 0;

  /// `data` of the root becomes everyone's.
  virtual void broadcast(void* data, std::size_t num_bytes, int root) = 0;
  /// Everyone's block, in order of ranks.
  virtual void gather(const void* mine, void* all, std::size_t bytes_each) = 0;

  static constexpr int kSlots = 16;
  /// Starts to send `out` to the peer and to receive as many bytes from it; both may be empty.
  /// Several can be under way, each in a slot of its own. Only the two ranks take part.
  virtual void start_swap(int slot, int peer, const void* out, std::size_t out_bytes, void* in,
                          std::size_t in_bytes) = 0;
  virtual void finish_swap(int slot) = 0;

  /// Asks until the answer is yes: waits for something that depends on other processes and is not
  /// theirs to tell, with the same care as every other wait. Not collective.
  virtual void wait_for(const std::function<bool()>& done) = 0;

  /// Tells rank 0 why this process cannot go on, from any state; not collective. Returns only when
  /// rank 0 is gone or has not ended the run for a while, with what this process is to say then.
  virtual std::string report_failure(const std::string& message) noexcept = 0;
  /// Ends all processes of the run with this code; not collective.
  virtual void abort(int code) noexcept = 0;
  /// The last call of a run that went well: leaves the launcher in order.
  virtual void finish() = 0;
  virtual bool is_finished() const = 0;
  /// Returns once all processes have called it.
  void meet();
  /// The names of the hosts, in order of ranks.
  std::vector<std::string> hosts();
};

/// The number of this process and of all, as the environment tells before anything is loaded;
/// {0, 1} when it started alone.
struct Launch {
  enum class By : std::uint8_t { kNobody, kMpi, kVariables, kSlurm };
  int rank = 0, size = 1;
  By by = By::kNobody;  ///< mpirun or srun with PMIx; TILEWAVE_PROCESSES; srun without
};
Launch launch();
/// Throws Error(kUsage) where TILEWAVE_PROCESSES and TILEWAVE_PROCESS do not say this.
void check_launch();

/// The processes a launcher started this one among; null when it started alone. Joins them at the
/// first call, which every process makes: over MPI where that launched them, otherwise over TCP.
/// Throws Error(kCommunication) when they do not come together, Error(kUsage) for variables that
/// make no sense.
std::shared_ptr<Ranks> launched_ranks();

/// The same when they have been joined, otherwise null.
std::shared_ptr<Ranks> joined_ranks();

/// True for the one process that is to say why they could not come together.
bool tells_why_not_joined();

/// What the module that is linked with the launcher's library exports: `tilewave_join_ranks`.
/// Writes a message and returns null when it cannot.
using JoinRanks = Ranks* (*)(std::string* problem);
constexpr const char* kJoinRanksName = "tilewave_join_ranks";

}  // namespace tilewave::runtime
