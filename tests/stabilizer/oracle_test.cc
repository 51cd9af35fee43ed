// Conjugations, error models and statistics against files that the `stim` package wrote
// (make_oracle.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "tilewave/circuit/clifford.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/error_analysis.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {
namespace {

const std::string kData = TW_STIM_DATA;

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

TEST(Oracle, every_gate_conjugates_as_stim_says) {
  std::istringstream in(read(kData + "/cliffords.txt"));
  std::string line;
  int gates = 0;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string name, image;
    words >> name;
    const circuit::StabName found = circuit::find_stabilizer_op(name);
    ASSERT_TRUE(found.found) << name;
    const int arity = circuit::gate_arity(found.gate);
    for (int g = 0; words >> image; ++g) {
      std::string got;
      if (arity == 1) {
        const auto c = circuit::gate_clifford1(found.gate);
        got += (g ? c.z_negative : c.x_negative) ? '-' : '+';
        got += "_XYZ"[static_cast<int>(g ? c.z : c.x)];
      } else {
        const auto c = circuit::clifford2_of(circuit::expanded_matrix(found.gate));
        ASSERT_TRUE(c.has_value()) << name;
        const circuit::Pauli2 p = c->images[g];
        got += circuit::is_negative(p) ? '-' : '+';
        for (int q = 0; q < 2; ++q) got += "_XYZ"[static_cast<int>(circuit::pauli_at(p, q))];
      }
      EXPECT_EQ(got, image) << name << " generator " << g;
    }
    ++gates;
  }
  EXPECT_EQ(gates, 46);
}

std::map<std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>>, double> merged(
    const circuit::ErrorModel& m) {
  std::map<std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>>, double> out;
  for (const circuit::FlatError& e : circuit::flatten(m).errors) {
    double& p = out[{e.detectors, e.observables}];
    p = p * (1 - e.probability) + e.probability * (1 - p);
  }
  out.erase({{}, {}});
  return out;
}

// Errors by their parts: of each part the detectors and observables, in no order. Stim gives what
// parts miss of the observables a part of its own, which PyMatching refuses where it looks at
// correlations; here the last part has it. So where an error has such a part, its parts stand
// without observables, with those of the whole behind them.
using Parts = std::vector<std::vector<circuit::DemTarget>>;

void add_parts(const std::vector<circuit::DemInstruction>& list, std::uint64_t& offset,
               std::map<Parts, double>& out) {
  using Kind = circuit::DemTarget::Kind;
  for (const circuit::DemInstruction& op : list) {
    if (op.kind == circuit::DemKind::kShiftDetectors) offset += op.count;
    for (std::uint64_t k = 0; op.kind == circuit::DemKind::kRepeat && k < op.count; ++k)
      add_parts(op.body, offset, out);
    if (op.kind != circuit::DemKind::kError) continue;
    Parts parts(1);
    for (circuit::DemTarget t : op.targets) {
      if (t.kind == Kind::kDetector) t.index += offset;
      if (t.kind == Kind::kSeparator)
        parts.emplace_back();
      else
        parts.back().push_back(t);
    }
    for (auto& part : parts) std::sort(part.begin(), part.end());
    std::sort(parts.begin(), parts.end());
    double& p = out[parts];
    p = p * (1 - op.args[0]) + op.args[0] * (1 - p);
  }
}
std::map<Parts, double> parts_of(const circuit::ErrorModel& model) {
  std::map<Parts, double> out;
  std::uint64_t offset = 0;
  add_parts(model.instructions, offset, out);
  return out;
}
bool is_observables(const std::vector<circuit::DemTarget>& part) {
  return std::all_of(part.begin(), part.end(), [](const circuit::DemTarget& t) {
    return t.kind == circuit::DemTarget::Kind::kObservable;
  });
}
Parts without_observables(const Parts& parts) {
  Parts out;
  std::vector<circuit::DemTarget> observables;
  for (const auto& part : parts) {
    auto& detectors = out.emplace_back();
    for (const circuit::DemTarget& t : part) {
      if (t.kind == circuit::DemTarget::Kind::kDetector) {
        detectors.push_back(t);
        continue;
      }
      const auto it = std::find(observables.begin(), observables.end(), t);
      if (it == observables.end())
        observables.push_back(t);
      else
        observables.erase(it);
    }
    if (detectors.empty()) out.pop_back();
  }
  std::sort(out.begin(), out.end());
  std::sort(observables.begin(), observables.end());
  out.push_back(observables);
  return out;
}

void expect_parts(const circuit::ErrorModel& got, const circuit::ErrorModel& want,
                  const std::string& what) {
  std::map<Parts, double> left = parts_of(got);
  for (const auto& [parts, p] : parts_of(want)) {
    auto it = left.find(parts);
    if (parts.size() > 1 && std::any_of(parts.begin(), parts.end(), is_observables)) {
      it = std::find_if(left.begin(), left.end(), [&, key = without_observables(parts)](auto& e) {
        return without_observables(e.first) == key && std::abs(e.second - p) < 1e-9;
      });
    }
    ASSERT_NE(it, left.end())
        << what << ": lacks\n"
        << language::print_dem([&] {
             circuit::ErrorModel one;
             auto& e = one.instructions.emplace_back();
             e.args = {p};
             for (const auto& part : parts) {
               if (!e.targets.empty())
                 e.targets.push_back({circuit::DemTarget::Kind::kSeparator, 0});
               e.targets.insert(e.targets.end(), part.begin(), part.end());
             }
             return one;
           }());
    EXPECT_NEAR(it->second, p, 1e-9) << what;
    left.erase(it);
  }
  EXPECT_TRUE(left.empty()) << what << ": " << left.size() << " errors too many";
}

// The parts that errors are split into decide how well a decoder does.
TEST(Oracle, splits_of_codes_are_stims) {
  for (const char* name : {"surface_code_rot", "repetition_code", "transversal_cnot"}) {
    const std::string path = kData + "/" + name;
    const StabProgram program = lower(language::parse_stim(read(path + ".stim")));
    const circuit::ErrorModel want = language::parse_dem(read(path + ".split.dem"));
    for (bool fold : {false, true}) {
      AnalysisOptions options;
      options.decompose_errors = true;
      options.fold_loops = fold;
      expect_parts(analyze_errors(program, options), want, name);
    }
  }
}

TEST(Oracle, splits_of_random_circuits_are_stims) {
  const std::string all = read(kData + "/splits.txt");
  std::size_t count = 0;
  for (std::size_t at = 0; at < all.size(); ++count) {
    const std::size_t middle = all.find("\n=\n", at), end = all.find("\n-\n", middle);
    const std::string text = all.substr(at, middle - at),
                      model = all.substr(middle + 3, end - middle - 3);
    AnalysisOptions options;
    options.decompose_errors = true;
    options.approximate_disjoint_errors = 1;
    expect_parts(analyze_errors(lower(language::parse_stim(text)), options),
                 language::parse_dem(model), text);
    at = end + 3;
  }
  EXPECT_EQ(count, 40u);
}

// The same circuit, every target of its noise an instruction of its own.
std::string target_by_target(const std::string& text) {
  std::istringstream lines(text);
  std::string out, line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name, target;
    words >> name;
    const bool pairs = name.rfind("DEPOLARIZE2", 0) == 0;
    if (!pairs && name.rfind("DEPOLARIZE1", 0) != 0 && name.rfind("X_ERROR", 0) != 0) {
      out += line + "\n";
      continue;
    }
    for (std::string second; words >> target; second.clear()) {
      if (pairs) words >> second;
      out.append(name).append(" ").append(target).append(" ").append(second).append("\nTICK\n");
    }
  }
  return out;
}

class OracleCircuit : public testing::TestWithParam<const char*> {
 protected:
  StabProgram program() const {
    return lower(language::parse_stim(read(kData + "/" + GetParam() + ".stim")));
  }
};

TEST_P(OracleCircuit, error_model_equals_stims) {
  const auto want = merged(language::parse_dem(read(kData + "/" + GetParam() + ".dem")));
  for (bool fold : {false, true}) {
    AnalysisOptions options;
    options.approximate_disjoint_errors = 1;
    options.fold_loops = fold;
    const auto got = merged(analyze_errors(program(), options));
    EXPECT_EQ(got.size(), want.size());
    for (const auto& [key, p] : want) {
      const auto it = got.find(key);
      ASSERT_NE(it, got.end());
      EXPECT_NEAR(it->second, p, 1e-12);
    }
  }
}

// Rates and pair correlations within 5 sigma of 2^20 shots of the oracle, corrected for the number
// of pairs.
TEST_P(OracleCircuit, both_engines_have_stims_rates_and_correlations) {
  std::istringstream in(read(kData + "/" + GetParam() + ".counts"));
  double oracle_shots;
  std::size_t bits;
  in >> oracle_shots >> bits;
  const StabProgram whole = program();
  const StabProgram single =
      lower(language::parse_stim(target_by_target(read(kData + "/" + GetParam() + ".stim"))));
  for (const auto& [engine, target] :
       {std::pair{Engine::kFrame, &whole}, {Engine::kFrame, &single}, {Engine::kSparse, &whole}}) {
    const StabProgram& p = *target;
    SampleOptions options;
    options.engine = engine;
    options.num_shots = 1 << 18;
    options.seed = 12345;
    options.num_threads = 1;
    const auto source = make_shot_source(p, options);
    ASSERT_EQ(source->num_bits(), bits);
    std::vector<std::uint32_t> pairs(bits * bits);
    ShotPipeline pipeline;
    pipeline.format = [&](std::uint8_t* rows, std::size_t n, formats::ByteBuffer&) {
      for (std::size_t s = 0; s < n; ++s) {
        std::vector<std::size_t> ones;
        for (std::size_t b = 0; b < bits; ++b) {
          if ((rows[s * source->row_bytes() + b / 8] >> (b % 8)) & 1) ones.push_back(b);
        }
        for (std::size_t i = 0; i < ones.size(); ++i) {
          for (std::size_t j = 0; j <= i; ++j) ++pairs[ones[i] * bits + ones[j]];
        }
      }
      return std::span<const char>();
    };
    pipeline.write = [](std::span<const char>, std::size_t) { return true; };
    EXPECT_EQ(run_shots(*source, options, pipeline), options.num_shots);
    std::istringstream again(in.str());
    again >> oracle_shots >> bits;
    const double shots = static_cast<double>(options.num_shots);
    const double limit = 5 + std::sqrt(2 * std::log(static_cast<double>(bits * bits)));
    for (std::size_t i = 0; i < bits; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double count;
        again >> count;
        const double a = count / oracle_shots, b = pairs[i * bits + j] / shots,
                     mean = (count + pairs[i * bits + j]) / (oracle_shots + shots);
        const double sigma =
            std::sqrt(std::max(mean * (1 - mean), 1e-7) * (1 / oracle_shots + 1 / shots));
        EXPECT_LT(std::abs(a - b) / sigma, limit)
            << "bits " << i << ' ' << j << " engine " << static_cast<int>(engine);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OracleCircuit,
                         testing::Values("surface_code_rot", "surface_code_unr", "repetition_code",
                                         "color_code", "channels"));

}  // namespace
}  // namespace tilewave::stabilizer
