#include "tilewave/settings/engine.h"

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

}  // namespace

std::string_view name_of(Engine engine) { return word_of(kEngines, engine); }
Engine parse_engine(std::string_view text) { return parse_word(kEngines, "engine", text); }
std::string engine_words() { return list_of(kEngines); }

std::string_view name_of(SamplingEngine engine) { return word_of(kSamplingEngines, engine); }
SamplingEngine parse_sampling_engine(std::string_view text) {
  return parse_word(kSamplingEngines, "engine", text);
}
std::string sampling_engine_words() { return list_of(kSamplingEngines); }

}  // namespace tilewave
