// Lifts as operations of a tile program: alone, on a phase that is the last operation, or several of
// them and a table of phases in one layer.
#include <cmath>
#include <cstring>

#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile::detail {

/// [[1, -t], [t, 1]] on diag(1, m), without the factors 1 + t^2 and m / (1 + t^2) of its result.
void Emitter::lift(int slot, double t) {
  const auto bit = static_cast<std::uint32_t>(layout_->bit_of[slot]);
  if (last_bit_ != bit && plain_lift(slot, t)) return;
  double& m = magnitude_[slot];
  constexpr double kSmallest = 1.0 / 256;  // keeps twelve slots inside the range of a float
  if (std::abs(m) < kSmallest) reset_magnitude(slot);
  const double size = 1 + t * t;
  out_.frame.scale_re *= size;
  out_.frame.scale_im *= size;
  unit_ *= std::sqrt(size);
  if (choice_.compiled && last_bit_ == bit && lift_with_phase(m, t)) return;
  std::vector<std::byte> payload;
  put(payload, t / m);
  put(payload, t * m / size);
  payload.resize(16);
  m /= size;
  pay(&OpCosts::lift);
  if (last_bit_ == bit) {
    OpHead head;
    std::memcpy(&head, code_.data() + last_bit_op_, sizeof head);
    head.word |= OpWord::kThenLift;
    std::memcpy(code_.data() + last_bit_op_, &head, sizeof head);
    std::memcpy(code_.data() + last_bit_op_ + sizeof head + 16, payload.data(), 16);
    last_bit_ = ~0u;
    return;
  }
  // Lifts in a row, and the table before them, share an operation.
  if (last_lift_ != ~0u && last_lift_ != bit) {
    std::vector<std::byte> before(code_.end() - 16, code_.end());
    const std::uint32_t other = last_lift_;
    remove_lift();
    open_layer(TableKind::kNoTable, {});
    add_to_layer(other, before);
  }
  if (!layer_open_ || !add_to_layer(bit, payload)) {
    emit(kLift + bit, {}, {}, std::move(payload));
    last_lift_ = bit;
  }
}

/// Makes butterflies of the phase that is the last operation and a lift on its slot: with the
/// 1-half stored as 1 / t of itself, which the phase makes it at no cost, the lift adds the 0-half
/// as it is. False where the last operation is a tau, or too small a factor would be left out.
bool Emitter::lift_with_phase(double& m, double t) {
  constexpr double kSmallest = 1.0 / 16;
  OpHead head;
  std::byte* const at = code_.data() + last_bit_op_;
  std::memcpy(&head, at, sizeof head);
  const std::uint32_t code = OpWord{head.word}.code();
  if (code < kPhase || code >= kGeneral || std::abs(t) < kSmallest) return false;
  head.word += kPhaseLift - kPhase;
  out_.needs_kernel = true;
  std::memcpy(at, &head, sizeof head);
  std::byte* const payload = at + sizeof head;
  double g = m / t;
  if (OpWord{head.word}.factor() == FactorClass::kConstant) {
    const auto scale = [&](auto number) {  // the real and the imaginary part of W
      for (std::byte* x = payload; x < payload + 2 * sizeof number; x += sizeof number) {
        std::memcpy(&number, x, sizeof number);
        number *= static_cast<decltype(number)>(g);
        std::memcpy(x, &number, sizeof number);
      }
    };
    if (shape_.precision == Precision::kDouble) {
      scale(double{});
    } else {
      scale(float{});
    }
    g = 1;
  }
  const double size = 1 + t * t;
  std::vector<std::byte> numbers;
  put(numbers, g);
  put(numbers, t * t / size);
  std::memcpy(payload + 16, numbers.data(), numbers.size());
  m = t / size;
  pay(&OpCosts::lift, 0.5);
  last_bit_ = ~0u;
  return true;
}

/// Takes back the lift that is the last operation.
void Emitter::remove_lift() {
  code_.resize(code_.size() - sizeof(OpHead) - 16);
  --out_.num_operations;
  pay(&OpCosts::decode, -1);
}

/// False when the layer has a lift on this bit.
bool Emitter::add_to_layer(std::uint32_t bit, const std::vector<std::byte>& numbers) {
  std::byte* const at = code_.data() + last_layer_;
  const std::uint32_t flag = OpWord::index(std::size_t{1} << bit);
  OpHead head;
  std::memcpy(&head, at, sizeof head);
  if (head.word & flag) return false;
  head.word |= flag;
  std::memcpy(at, &head, sizeof head);
  std::memcpy(at + sizeof head + std::size_t{16} * bit, numbers.data(), 16);
  return true;
}

/// Starts an operation that takes a table and lifts.
void Emitter::open_layer(TableKind kind, const std::vector<std::byte>& table) {
  OpHead head;
  head.word = OpWord::kind(static_cast<std::uint32_t>(kind));
  std::vector<std::byte> payload(16 * static_cast<std::size_t>(shape_.register_bits));
  append(payload, table.data(), table.size());
  pad16(payload);
  const std::size_t size = sizeof head + payload.size();
  const auto code = kind == TableKind::kNoTable ? std::uint32_t{kLayer}
                                                : kTable + static_cast<std::uint32_t>(kind) - 1;
  emit(code, head, {}, std::move(payload));
  last_layer_ = code_.size() - size;
  layer_open_ = true;
}

}  // namespace tilewave::statevec::tile::detail
