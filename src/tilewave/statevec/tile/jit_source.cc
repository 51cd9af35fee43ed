#include "tilewave/statevec/tile/jit_source.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/jit_blocks.h"
#include "tilewave/statevec/tile/jit_numbers.h"
#include "tilewave/statevec/tile/jit_operations.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

namespace {

/// Of machine code, by prediction, beyond which operations share it.
int most_code_bytes(const Shape& shape, int shortenings) {
  const bool is_double = shape.precision == Precision::kDouble;
  const int bytes = !is_double         ? kJitSingleCodeBytes
                    : shape.block_bits ? kJitWideCodeBytes
                                       : kJitDoubleCodeBytes;
  return bytes - shortenings * (bytes / 8);
}

class Writer {
 public:
  explicit Writer(const TilePass& pass, int shortenings = 0)
      : pass_(pass), frame_(pass.frame), number_bytes_(amplitude_bytes(pass.shape.precision) / 2) {
    const Operations operations(pass_);
    exchanges_.push_back(first_phase());
    std::vector<int> bytes;
    std::vector<bool> is_exchange;
    std::map<std::string, int> kind_of;
    // Threads of a warp that part at an operation meet again behind it, unless it ends a block:
    // then they may go on apart to the barrier of another one.
    bool diverges = false;
    operations.for_each([&](const ListedOp& op, std::size_t at) {
      diverges = diverges || op.word.controlled() || op.word.code() == kGeneral ||
                 op.word.code() == kMatrixShared;
      // what the code of an operation depends on, but where its numbers lie
      std::size_t detail = 0;
      std::string what;
      std::vector<Number> own;
      const auto add = [&](std::vector<std::string>& to, std::string text) {
        what = text;
        detail = static_cast<std::size_t>(std::find(to.begin(), to.end(), text) - to.begin());
        if (detail == to.size()) to.push_back(std::move(text));
      };
      const auto emit = [&](const ListedOp& one) {
        what = text(one.word.at(0).word) + text(one.pairs) + what;
        const auto [kind, is_new] = kind_of.try_emplace(what, static_cast<int>(kind_of.size()));
        if (is_new) bytes.push_back(bytes_of(one, pass_.shape.precision));
        kinds_.push_back(kind->second);
        places_.push_back(one.word.extent());
        ops_.push_back(text(one.word.word) + "," + text(one.pairs) + "," + text(detail));
        is_exchange.push_back(one.word.code() == kExchange);
        numbers_.push_back(std::move(own));
        own.clear();
        what.clear();
      };
      // lifts by themselves: they are what operations share most
      const auto emit_lift = [&](std::uint32_t r, std::size_t offset) {
        const OpWord word{kLift + r};
        own = numbers_at(operations, at + sizeof(OpHead) + offset, {kLiftUses, kLiftUses});
        emit({word.at(op.word.extent() + offset), ~0u});
      };
      const std::uint32_t code = op.word.code();
      if (code == kLayer) {
        for (std::uint32_t r = 0; r < kMaxRegisterBits; ++r) {
          if (op.word.index() >> r & 1) emit_lift(r, std::size_t{16} * r);
        }
        return;
      }
      if (code == kExchange) {
        add(exchanges_, exchange(operations, at + sizeof(OpHead)));
      } else if (code >= kChoiceLift) {
        own = numbers_of_choice(operations, op, at + sizeof(OpHead));
      } else if ((code >= kPhase && code < kGeneral) || code >= kPhaseLift) {
        own = numbers_of_phase(operations, op.word, at + sizeof(OpHead));
      } else {
        own = numbers_at(operations,
                         at + sizeof(OpHead) + (op.word.controlled() ? sizeof(OpControls) : 0),
                         uses_of_numbers(op));
      }
      emit({{op.word.word & ~OpWord::kThenLift}, op.pairs});
      if (op.word.then_lift()) emit_lift((code - kTauOne) % kMaxRegisterBits, 16);
    });
    const bool is_double = pass_.shape.precision == Precision::kDouble;
    const int most = most_code_bytes(pass_.shape, shortenings);
    const int most_shared = is_double ? most : std::min(most, kJitSharedSingleCodeBytes);
    shared_ =
        code_blocks(kinds_, places_, bytes, most - kJitFrameBytes, most_shared - kJitFrameBytes);
    if (shared_ && shared_->blocks.size() > 1 && diverges) shared_.reset();
    if (!shared_) return;
    end_basic_blocks(bytes, is_exchange);
  }

  /// Steps from one block of code to another; 0 where the code is too long.
  int num_steps() const { return shared_ ? static_cast<int>(shared_->steps.size()) : 0; }

  /// None where the code is too long. `blocks`: of a multiprocessor.
  std::optional<JitSource> write(int blocks) {
    if (!shared_) return std::nullopt;
    out_ = "struct Program {\n";
    const bool is_double = pass_.shape.precision == Precision::kDouble;
    out_ += std::string("using Real = ") + (is_double ? "double" : "float") + ";\n";
    constant("int", "kBlockQubits", std::to_string(pass_.shape.block_qubits()));
    constant("int", "kBlockBits", std::to_string(pass_.shape.block_bits));
    constant("int", "kMinBlocks", std::to_string(blocks));
    write_frame();
    const KernelArguments chosen = choose_arguments(*shared_, numbers_, number_bytes_);
    write_lists(chosen);
    function("JitOp", "op", joined(ops_));
    function("JitList", "list", joined(lists_));
    constant("int", "kNumbers", std::to_string(std::max<std::size_t>(chosen.bits.size(), 1)));
    function("JitExchange", "exchange", joined(exchanges_));
    check_blocks(*shared_, kinds_, places_);
    write_blocks(*shared_, places_);
    out_ += "};\n__device__ constexpr PassFrame kFrame = Program::frame();\n";
    out_ += std::string("extern \"C\" __global__ void ") +
            (pass_.shape.block_bits ? "TW_CLUSTER_OF(2) " : "") +
            "__launch_bounds__(1 << (Program::kBlockQubits - tile::kMaxRegisterBits), "
            "Program::kMinBlocks)\n" +
            kJitKernelName +
            "(const __grid_constant__ TileArguments<Program::Real> args,\n"
            "const __grid_constant__ JitNumbers<Program::Real, Program::kNumbers> numbers) {\n"
            "run_compiled_pass<Program>(kFrame, args, numbers);\n}\n}\n";
    return JitSource{
        "#include \"tilewave/statevec/cuda/jit_kernel.cuh\"\n"
        "namespace tilewave::statevec::cuda {\n" +
            out_,
        chosen.bytes(number_bytes_)};
  }

 private:
  /// Adds to each operation whether a basic block ends before it.
  void end_basic_blocks(const std::vector<int>& bytes, const std::vector<bool>& is_exchange) {
    const bool is_double = pass_.shape.precision == Precision::kDouble;
    // In double precision blocks that share code would spill more than they gain.
    const bool at_exchanges = !is_double || shared_->blocks.size() == 1;
    std::vector<bool> ends(ops_.size());
    for (const CodeBlocks::Block& block : shared_->blocks) {
      int length = 0;
      for (std::size_t k = block.first; k < block.last; ++k) {
        length += bytes[static_cast<std::size_t>(kinds_[k])];
        ends[k] = at_exchanges ? is_exchange[k] || length > kJitBasicBlockBytes
                               : length > kJitSharedBasicBlockBytes;
        if (ends[k]) length = 0;
      }
    }
    for (std::size_t k = 0; k < ops_.size(); ++k) ops_[k] += "," + text(ends[k]);
  }

  /// Which arguments each operation has.
  void write_lists(const KernelArguments& chosen) {
    lists_.push_back("{}");
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      const std::string entry = chosen.lists[k].empty() ? "{}" : "{" + list(chosen.lists[k]) + "}";
      const auto known = std::find(lists_.begin(), lists_.end(), entry);
      ops_[k] = "{" + ops_[k] + "," + text(static_cast<std::size_t>(known - lists_.begin())) + "}";
      if (known == lists_.end()) lists_.push_back(entry);
    }
  }

  /// Every run of a block finds operations of the same kinds, with numbers at the same distances.
  static void check_blocks(const CodeBlocks& shared, const std::vector<int>& kinds,
                           const std::vector<std::uint32_t>& places) {
    std::size_t next = 0;
    for (const CodeBlocks::Step& step : shared.steps) {
      const CodeBlocks::Block& block = shared.blocks[step.block];
      TW_CHECK(step.first == next, "a compiled program leaves an operation out");
      for (std::size_t k = block.first; k < block.last; ++k, ++next) {
        TW_CHECK(kinds[next] == kinds[k] &&
                     places[next] - places[k] == places[step.first] - places[block.first],
                 "a compiled program runs other operations");
      }
    }
    TW_CHECK(next == kinds.size(), "a compiled program ends early");
  }

  /// A block that runs once leads straight to the next one; after another one the number of the
  /// step decides between those that follow it anywhere.
  void write_blocks(const CodeBlocks& shared, const std::vector<std::uint32_t>& places) {
    std::vector<std::vector<std::size_t>> steps_of(shared.blocks.size());
    for (std::size_t k = 0; k < shared.steps.size(); ++k)
      steps_of[shared.steps[k].block].push_back(k);
    const auto offset = [&](std::size_t k) {  // modulo 2^32, as addresses in shared memory are
      const CodeBlocks::Step& step = shared.steps[k];
      return places.empty() ? 0 : places[step.first] - places[shared.blocks[step.block].first];
    };
    // Where the numbers lie is part of the jump: read by the number of the step, they would come
    // late.
    const auto then = [&](std::size_t k) {
      if (k + 1 == shared.steps.size()) return std::string("return;\n");
      return "k = " + text(k + 1) + "; p.offset = " + text(offset(k + 1)) + "; goto block_" +
             std::to_string(shared.steps[k + 1].block) + ";\n";
    };
    std::string blocks, body;
    for (std::size_t b = 0; b < shared.blocks.size(); ++b) {
      blocks += "{" + text(shared.blocks[b].first) + "," + text(shared.blocks[b].last) + "},\n";
      const std::string name = std::to_string(b);
      const std::vector<std::size_t>& own = steps_of[b];
      if (b > 0) body += "block_" + name + ":\n";
      body += "Runner::template run<" + name + ">(p);\n";
      if (own.size() == 1) {
        body += then(own[0]);
        continue;
      }
      body += "switch (k) {\n";
      for (std::size_t run = 0; run < own.size(); ++run) {
        body += (run + 1 < own.size() ? "case " + std::to_string(own[run]) : "default") + ": " +
                then(own[run]);
      }
      body += "}\n";
    }
    // the first block, where it comes again
    const std::string first = "goto block_0;";
    if (body.find(first) != std::string::npos) body = "block_0:\n" + body;
    function("JitBlock", "block", blocks);
    out_ +=
        "template <class Runner>\n__device__ static __forceinline__ void run_blocks("
        "typename Runner::Place p) {\n[[maybe_unused]] std::uint32_t k = 0;\n" +
        body + "}\n";
  }

  static std::string text(std::uint64_t x) { return std::to_string(x) + "u"; }
  static std::string wide(std::uint64_t x) { return std::to_string(x) + "ull"; }
  template <class Range>
  static std::string list(const Range& numbers) {
    std::string out = "{";
    for (std::uint32_t x : numbers) out += text(x) + ",";
    return out + "}";
  }
  static std::string joined(const std::vector<std::string>& entries) {
    std::string out;
    for (const std::string& entry : entries) out += entry + ",\n";
    return out;
  }
  void constant(const char* type, const char* name, const std::string& value) {
    out_ += std::string("static constexpr ") + type + " " + name + " = " + value + ";\n";
  }
  void function(const char* type, const char* name, const std::string& entries) {
    out_ += std::string("__device__ static constexpr ") + type + " " + name +
            "(std::uint32_t i) {\nconst " + type + " all[] = {\n" +
            (entries.empty() ? "{}" : entries) + "};\nreturn all[i];\n}\n";
  }

  /// The fields that kernels use, but for numbers, the list of operations and what a launch alone
  /// needs.
  void write_frame() {
    const PassFrame& f = frame_;
    out_ += "__device__ static constexpr PassFrame frame() {\nPassFrame f{};\n";
    const auto set = [&](const std::string& name, std::uint64_t value) {
      if (value) out_ += "f." + name + " = " + wide(value) + ";\n";
    };
    const auto each = [&](const std::string& name, const auto& values, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) set(name + "[" + std::to_string(k) + "]", values[k]);
    };
    const auto slots = static_cast<std::size_t>(pass_.shape.block_qubits());
    each("load_column", f.load_column, slots);
    each("store_column", f.store_column, slots);
    set("store_xor", f.store_xor);
    set("store_add", f.store_add);
    set("block_load", f.block_load);
    each("block_move", f.block_move, 2);
    set("zero_load", f.zero_load);
    set("zero_store", f.zero_store);
    each("place_column", f.place_column, slots);
    each("first_column", f.first_column, slots);
    each("first_shift", f.first_shift, std::size(f.first_shift));
    set("through_shared", f.through_shared);
    set("num_runs", f.num_runs);
    for (std::size_t r = 0; r < f.num_runs; ++r) {
      const std::string run = "runs[" + std::to_string(r) + "]";
      set(run + ".from", f.runs[r].from);
      set(run + ".to", f.runs[r].to);
      set(run + ".width", f.runs[r].width);
    }
    out_ += "f.scale_kind = static_cast<tile::ScaleKind>(" +
            text(static_cast<std::uint32_t>(f.scale_kind)) + ");\n";
    set("arrives", f.arrives);
    set("needs_barrier", f.needs_barrier);
    set("max_linear", f.max_linear);
    set("first_chunk16", f.first_chunk16);
    set("first_linear", f.first_linear);
    set("first_linear_tables", f.first_linear_tables);
    set("tile_bits", f.tile_bits);
    set("max_general", f.max_general);
    out_ += "return f;\n}\n";
  }

  struct Columns {
    std::vector<std::uint32_t> write, read, thread;
    std::uint32_t constant = 0, to = 0;
  };

  /// Counts the bits that can be 1 in the address of amplitude 0 after it, too.
  std::string print(Columns& c, const std::vector<std::uint32_t>& tiles) {
    c.to = c.constant;
    for (std::uint32_t column : c.thread) c.to |= column;
    for (std::uint32_t column : tiles) c.to |= column;
    c.thread.resize(kMaxTileQubits);
    std::string out = "{" + list(c.write) + "," + list(c.read) + "," + list(c.thread) + "," +
                      text(c.constant) + "," + text(tiles.size()) + "," + text(from_) + "," +
                      text(c.to) + "}";
    from_ = c.to;
    return out;
  }

  static constexpr std::size_t kRegisters = kMaxRegisterBits;

  std::string first_phase() {
    Columns c;
    const auto slots = static_cast<std::size_t>(pass_.shape.block_qubits());
    c.write.resize(kRegisters);
    c.read.assign(frame_.first_column, frame_.first_column + kRegisters);
    c.thread.assign(frame_.first_column + kRegisters, frame_.first_column + slots);
    std::vector<std::uint32_t> tiles;
    if (through_shared()) {
      c.constant = frame_.first_shift[0];
      for (std::uint32_t k = 0; k < frame_.first_shift[1]; ++k)
        tiles.push_back(frame_.first_shift[3 + 2 * k]);
    }
    return print(c, tiles);
  }

  bool through_shared() const { return loads_through_shared(pass_.shape) || frame_.through_shared; }

  std::string exchange(const Operations& operations, std::size_t at) {
    const auto take = [&](std::size_t count) {
      std::vector<std::uint32_t> numbers(count);
      for (std::uint32_t& x : numbers) x = operations.read<std::uint32_t>(at), at += 4;
      return numbers;
    };
    Columns c;
    c.write = take(kRegisters);
    c.read = take(kRegisters);
    c.thread = take(static_cast<std::size_t>(pass_.shape.thread_bits()));
    const auto tail = take(2);
    c.constant = tail[0];
    std::vector<std::uint32_t> tiles;
    for (std::uint32_t k = 0; k < tail[1]; ++k) tiles.push_back(take(2)[1]);
    return print(c, tiles);
  }

  const TilePass& pass_;
  const PassFrame& frame_;
  const std::size_t number_bytes_;
  std::vector<int> kinds_;             ///< of each operation; equal ones have the same code
  std::vector<std::uint32_t> places_;  ///< of their numbers
  std::vector<std::string> ops_;
  std::vector<std::vector<Number>> numbers_;
  std::optional<CodeBlocks> shared_;
  std::string out_;
  std::vector<std::string> exchanges_, lists_;
  std::uint32_t from_ = 0;
};

/// Tables of phases are for the interpreter. In double precision passes with matrices on two bits are
/// slower compiled than interpreted: they spill registers in loops and exceed the instruction cache
/// without.
bool may_be_compiled(const TilePass& pass) {
  if (pass.shape.register_bits != kMaxRegisterBits) return false;
  bool may_be = true;
  Operations(pass).for_each([&](const ListedOp& op, std::size_t) {
    const std::uint32_t code = op.word.code();
    const bool is_table = code >= kTable && code < kCross;
    const bool is_matrix2 = code >= kMatrix2 && code < kTauOne;
    may_be = may_be && !is_table && !(is_matrix2 && pass.shape.precision == Precision::kDouble);
  });
  return may_be;
}

}  // namespace

std::optional<JitSource> jit_source(const TilePass& pass, int blocks, int shortenings) {
  if (!may_be_compiled(pass)) return std::nullopt;
  return Writer(pass, shortenings).write(blocks);
}

int jit_steps(const TilePass& pass) { return may_be_compiled(pass) ? Writer(pass).num_steps() : 0; }

}  // namespace tilewave::statevec::tile
