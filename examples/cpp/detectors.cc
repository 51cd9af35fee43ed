// How often the detectors of a repetition code fire, and its detector error model.
#include <cstdio>
#include <string>

#include <tilewave/sampling.h>

int main() {
  std::string code = "R 0 1 2 3 4\n";
  const std::string round =
      "X_ERROR(0.01) 0 2 4\nCX 0 1 2 3\nCX 2 1 4 3\nX_ERROR(0.02) 1 3\nMR 1 3\n";
  code += round + "DETECTOR rec[-1]\nDETECTOR rec[-2]\n";
  code += "REPEAT 20 {\n" + round + "DETECTOR rec[-1] rec[-3]\nDETECTOR rec[-2] rec[-4]\n}\n";
  code += "M 0 2 4\nOBSERVABLE_INCLUDE(0) rec[-1]\n";

  tilewave::SamplerOptions options;
  options.seed = 1;
  tilewave::Sampler sampler(code, options);
  const tilewave::ShotTable shots = sampler.sample(100000);
  double events = 0;
  for (std::uint64_t shot = 0; shot < shots.num_shots; ++shot)
    for (std::uint64_t d = 0; d < sampler.num_detectors(); ++d) events += shots.bit(shot, d);
  std::printf("%.4f events a detector\n",
              events / double(shots.num_shots * sampler.num_detectors()));
  std::printf("%zu bytes of error model\n", tilewave::detector_error_model(code).size());
}
