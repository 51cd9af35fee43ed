#include "tilewave/settings/names.h"

#include "tilewave/settings/words.h"

namespace tilewave {

namespace {

constexpr std::array<Word<Precision>, 2> kPrecisions = {
    {{"double", Precision::kDouble}, {"single", Precision::kSingle}}};
constexpr std::array<Word<Effort>, 4> kEfforts = {{{"auto", Effort::kAuto},
                                                   {"once", Effort::kOnce},
                                                   {"repeated", Effort::kRepeated},
                                                   {"best", Effort::kBest}}};
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

std::string_view name_of(Precision precision) { return word_of(kPrecisions, precision); }
std::string_view name_of(Effort effort) { return word_of(kEfforts, effort); }
std::string_view name_of(Engine engine) { return word_of(kEngines, engine); }
std::string_view name_of(SamplingEngine engine) { return word_of(kSamplingEngines, engine); }

Precision parse_precision(std::string_view text) {
  return parse_word(kPrecisions, "precision", text);
}
Effort parse_effort(std::string_view text) { return parse_word(kEfforts, "effort", text); }
Engine parse_engine(std::string_view text) { return parse_word(kEngines, "engine", text); }
SamplingEngine parse_sampling_engine(std::string_view text) {
  return parse_word(kSamplingEngines, "engine", text);
}

}  // namespace tilewave
