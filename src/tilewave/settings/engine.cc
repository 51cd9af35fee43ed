#include "tilewave/settings/engine.h"

#include "tilewave/base/error.h"
#include "tilewave/settings/words.h"

namespace tilewave {

namespace {

constexpr std::array<Word<Engine>, 5> kEngines = {{{"auto", Engine::kAuto},
                                                   {"statevector", Engine::kStatevector},
                                                   {"stabilizer", Engine::kStabilizer},
                                                   {"density", Engine::kDensity},
                                                   {"trajectories", Engine::kTrajectories}}};
constexpr std::array<Word<SamplingEngine>, 3> kSamplingEngines = {
    {{"auto", SamplingEngine::kAuto},
     {"frame", SamplingEngine::kFrame},
     {"sparse", SamplingEngine::kSparse}}};

template <class Value, std::size_t N>
std::string_view name_in(const std::array<Word<Value>, N>& words, Value value) {
  return words[static_cast<std::size_t>(value)].text;
}

template <class Value, std::size_t N>
Value parse(const std::array<Word<Value>, N>& words, std::string_view text) {
  if (const auto found = find_word(words, text)) return *found;
  throw Error(ExitCode::kUsage, "unknown engine " + quoted(text) + ": use " + list_of(words));
}

}  // namespace

std::string_view name_of(Engine engine) { return name_in(kEngines, engine); }
Engine parse_engine(std::string_view text) { return parse(kEngines, text); }
std::string engine_words() { return list_of(kEngines); }

std::string_view name_of(SamplingEngine engine) { return name_in(kSamplingEngines, engine); }
SamplingEngine parse_sampling_engine(std::string_view text) {
  return parse(kSamplingEngines, text);
}
std::string sampling_engine_words() { return list_of(kSamplingEngines); }

}  // namespace tilewave
