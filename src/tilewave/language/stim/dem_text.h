// Stim's detector error model language (.dem), text to model and back.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tilewave/circuit/error_model.h"

namespace tilewave::language {

/// Throws Error(kInput) with `file`:line:column and a caret.
circuit::ErrorModel parse_dem(std::string_view text, std::string_view file = "<model>");
/// Whether a text is an error model rather than a circuit, by its first instruction that only one of
/// the languages has.
bool is_dem(std::string_view text);
/// Writes a model as it comes.
class DemWriter : public circuit::DemSink {
 public:
  /// `write` gets pieces of the text in order.
  explicit DemWriter(std::function<void(std::string_view)> write) : write_(std::move(write)) {}
  void instruction(const circuit::DemInstruction& op) override;
  void open_repeat(const circuit::DemInstruction& repeat) override;
  void close_repeat() override;
  /// Writes what is left; to be called at the end.
  void flush();

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 18;
  void begin(const circuit::DemInstruction& op);
  void end_line();

  std::function<void(std::string_view)> write_;
  std::string text_;
  std::size_t indent_ = 0;
  double last_ = 0;
  std::string last_text_;  // of last_: equal numbers follow each other
};

std::string print_dem(const circuit::ErrorModel& model);

}  // namespace tilewave::language
