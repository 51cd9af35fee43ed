// A state, or a batch of states side by side in the lanes of vectors, moved through the passes of a
// program, and with it the second state of the adjoint method.
//
// Memory: a row of the whole state is kLanes real and kLanes imaginary parts. In a state by itself
// its number is the basis state's without the lowest wires, which number the lane; in a batch it is
// the basis state. A pass copies the rows of a tile into fast memory and back, unless one tile is the
// whole state. Sums go into a fixed number of slots by the tile's number, so that results have the
// same bits for any number of threads.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tilewave/parametric/cpu/kernels.h"
#include "tilewave/parametric/plan/passes.h"
#include "tilewave/parametric/plan/strings.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::parametric {

template <class T>
class Run {
 public:
  /// Takes no memory for states yet. `num_threads` work on one run. Where processes share a state,
  /// `shard` are the wires beyond those of the passes that are 1 on this one.
  Run(const Program& program, const Actions& actions, int num_threads, std::uint64_t shard = 0);
  ~Run();

  /// How many value sets a run takes: 1, or the elements of a batch.
  int num_lanes() const;
  bool is_batch() const { return program_.passes.lane_bits == 0; }
  /// The angle of each derivative.
  std::span<const std::uint32_t> read_angles() const { return program_.passes.read_angle; }

  /// Parameters for the next run: `count` sets of values, row by row (the last lanes repeat the
  /// first set).
  void bind(const double* values, std::size_t count, std::size_t num_parameters);
  /// The state from |0...0>. These come after `bind`.
  void forward();
  /// The same from amplitudes that were set, of every lane that is used, in the order of basis states of
  /// qubits.
  void set_states(std::span<const std::complex<double>* const> of_lanes);
  void forward_from_state();
  /// From here to the next `bind`, moving forward makes lam as well: the derivative of psi by one
  /// parameter, of its own for every lane. The global phase does not count.
  void bind_directions(const std::uint32_t* parameters, std::size_t count);
  /// Re <lam|psi>, and Im, which is 0 for observables up to rounding, for every lane.
  void dot(std::span<double> re, std::span<double> im);
  /// <P> of every string: [string][lane].
  void read_strings(std::span<double> values);
  /// lam = sum_j weights[j][lane] P_j psi.
  void make_lam(std::span<const double> weights);
  /// lam of lanes from amplitudes, in the order of basis states of qubits: half of them.
  void set_lams(std::span<const std::complex<double>* const> of_lanes);
  /// Brings both states back to the start: derivatives [read][lane]. Unless they are wanted there
  /// (`keeps`), it ends where nothing more is read.
  void backward(std::span<double> reads, bool keeps = false);

  // ---- a shard of a state, for shared_state.h ----
  /// Throws Error(kResources) where there is no memory for psi, lam and `others` more.
  void need_shards(int others);
  /// |0...0>, whose one amplitude the first shard has; no pass is run, and nothing is taken for zero.
  void start_shard();
  /// Goes through the passes, on psi as it is.
  void forward_shard();
  /// The states, as rows, and what the next run of the same shard takes over from this one.
  T* psi() { return psi_.as<T>(); }
  T* lam() { return lam_.as<T>(); }
  std::size_t num_rows() const;
  static constexpr std::size_t row_numbers() { return std::size_t{2} * cpu::kLanes<T>; }
  void take_states(Run& from);
  /// The same as read_strings and make_lam for one sweep: P_j acts on `ket`; both add.
  void read_sweep(const StringSweep& sweep, const T* ket, std::span<double> values);
  void add_sweep(const StringSweep& sweep, const T* ket, std::span<const double> weights,
                 bool is_first_sweep);

  /// Amplitudes of a lane in the order of basis states of qubits.
  void get_state(std::size_t lane, std::complex<double>* amplitudes) const;

 private:
  template <class F>
  void for_tiles(std::uint64_t active, std::uint64_t zeros, std::uint64_t slots, F f);
  void move_forward();
  std::uint64_t zeros_before(std::size_t pass) const;
  std::uint64_t outer(std::uint64_t active, std::uint64_t zeros) const;
  std::uint64_t row_of(std::uint64_t outer) const;
  std::uint64_t num_slots(std::uint64_t active, std::uint64_t zeros) const;
  void need_states(int count);
  std::vector<std::uint32_t> rows_of(const std::vector<int>& wires) const;
  std::size_t lane_of(std::uint64_t index, const std::vector<int>& wires, std::size_t* row) const;
  void set_amplitudes(T* state, const std::vector<int>& wires,
                      std::span<const std::complex<double>* const> of_lanes,
                      std::span<const std::complex<double>> factors);

  struct Thread;
  const Program& program_;
  const Actions& actions_;
  int num_threads_;
  std::uint64_t shard_;
  bool from_zero_ = true;  // the state under way began as |0...0>
  runtime::HostBuffer psi_, lam_, factors_;
  std::vector<double> angles_;                // [angle][lane], of rotations half of them
  std::vector<double> share_;                 // how much of each angle that is
  runtime::HostBuffer rates_;                 // of angles along the directions: [angle][lane]
  std::vector<std::uint8_t> moves_;           // where rates are not 0; empty without directions
  std::vector<std::complex<double>> global_;  // the factor of each lane's state
  std::vector<int> wires_;                    // of qubits at the start
  std::vector<std::uint32_t> first_rows_,
      last_rows_;  // of a batch's basis states, at start and end
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace tilewave::parametric
