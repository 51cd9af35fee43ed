// A frame program as text.
#include <string>

#include "tilewave/stabilizer/frame_program.h"

namespace tilewave::stabilizer {

std::string describe(const FrameProgram& program) {
  static constexpr const char* kNames[] = {"controlled",
                                           "measure",
                                           "coin",
                                           "clear",
                                           "record_flip",
                                           "pad",
                                           "pauli1",
                                           "pauli2",
                                           "correlated",
                                           "herald",
                                           "sites",
                                           "feedback",
                                           "sweep",
                                           "detector",
                                           "observable",
                                           "observable_pauli",
                                           "permute",
                                           "swap",
                                           "leak",
                                           "leak_pair",
                                           "unleaked1",
                                           "unleaked2",
                                           "false_flag",
                                           "seal",
                                           "spread",
                                           "scramble_spread",
                                           "leaked1",
                                           "leaked2",
                                           "missed_flag",
                                           "scramble",
                                           "scramble_partner",
                                           "flag",
                                           "loop",
                                           "loop_end",
                                           "gate_spread"};
  std::string out;
  int depth = 0;
  for (const FrameOp& op : program.ops) {
    if (op.code == FrameCode::kLoopEnd) --depth;
    out +=
        std::string(static_cast<std::size_t>(2 * depth), ' ') + kNames[static_cast<int>(op.code)];
    if (op.code == FrameCode::kLoop) {
      out.append(" ").append(std::to_string(program.loops[op.first]));
      ++depth;
    } else if (op.code != FrameCode::kLoopEnd) {
      out.append(" x").append(std::to_string(op.count));
    }
    out += '\n';
  }
  return out;
}

}  // namespace tilewave::stabilizer
