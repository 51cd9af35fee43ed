#include "tilewave/statevec/rates/rates_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/families.h"
#include "tilewave/statevec/cpu/cpu_numbers.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/state.h"
#include "tilewave/statevec/tile/device_numbers.h"

namespace tilewave::statevec::rates {
namespace {

namespace fs = std::filesystem;

// A folder of its own, which TILEWAVE_RATES names.
class RatesFiles : public ::testing::Test {
 protected:
  RatesFiles() {
    std::string name = (fs::temp_directory_path() / "tilewave-rates-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    if (const char* before = std::getenv("TILEWAVE_RATES")) before_ = before, was_set_ = true;
    use(folder_.string());
  }
  ~RatesFiles() override {
    was_set_ ? setenv("TILEWAVE_RATES", before_.c_str(), 1) : unsetenv("TILEWAVE_RATES");
    forget();
    fs::remove_all(folder_);
  }
  static void use(const std::string& what) {
    setenv("TILEWAVE_RATES", what.c_str(), 1);
    forget();
  }
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path) << text;
    forget();
  }
  // A file at the processor's place is refused with these words, in one line that says what to do.
  void expect_refused(const std::string& text, std::string_view words) {
    write(place_of(Kind::kCpu, cpu::processor()), text);
    const std::string message = error_of(
        [] { find(Kind::kCpu, cpu::processor(), cpu::cpu_number_list()); }, ExitCode::kInput);
    for (const std::string_view needed : {words, std::string_view("tilewave tune")})
      EXPECT_NE(message.find(needed), std::string::npos) << message << '\n' << text.substr(0, 200);
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }

  fs::path folder_;

 private:
  std::string before_;
  bool was_set_ = false;
};

RatesFile some_file() {
  RatesFile file;
  file.kind = Kind::kCpu;
  file.device = cpu::processor();
  file.machine = "2 cores";
  file.date = "2026-11-26T12:00:00Z";
  file.version = TW_VERSION;
  file.threads = 2;
  file.seconds = 41;
  file.spread = 0.01;
  file.drift = 0.02;
  file.of(Precision::kDouble) = flat_of(cpu::model_numbers(true));
  file.of(Precision::kSingle) = flat_of(cpu::model_numbers(false));
  file.checks = {{"qft_24", Precision::kDouble, "zeros", 0.0123, 0.0125, 0.004},
                 {"ghz_24", Precision::kSingle, "arbitrary", 0.008, 0.01, 0.01},
                 {"bv_24", Precision::kSingle, "arbitrary", 0.0111, 0.01, 0.01}};
  return file;
}

std::string text_of(const RatesFile& file) { return print(file, cpu::cpu_number_list()); }

std::string with(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST_F(RatesFiles, are_read_as_they_were_written) {
  const RatesFile file = some_file();
  const RatesFile read = parse(text_of(file), "here", cpu::cpu_number_list());
  EXPECT_EQ(text_of(read), text_of(file));
  EXPECT_EQ(read.of(Precision::kDouble), file.of(Precision::kDouble)) << "to the last bit";
  EXPECT_EQ(read.of(Precision::kSingle), file.of(Precision::kSingle));
  EXPECT_EQ(read.path, "here");
  ASSERT_TRUE(read.worst());
  EXPECT_EQ(read.worst()->circuit, "ghz_24");
  EXPECT_NEAR(read.worst()->ratio(), 0.8, 1e-12);
}

TEST_F(RatesFiles, that_are_damaged_or_foreign_or_old_are_refused) {
  const std::string good = text_of(some_file());
  RatesFile foreign = some_file();
  foreign.device = "Another Processor";
  for (const auto& [text, words] : std::initializer_list<std::pair<std::string, const char*>>{
           {"", "damaged"},
           {"{", "damaged"},
           {"[1, 2]", "no file of rates"},
           {R"({"format": "something else"})", "no file of rates"},
           {good.substr(0, good.size() / 4), "damaged"},
           {good.substr(0, good.size() / 2), "damaged"},
           {good.substr(0, good.size() * 3 / 4), "damaged"},
           {with(good, "rates 1", "rates 2"), "format"},
           {with(good, TW_VERSION, "0.0.9"), "version 0.0.9"},
           {with(good, "\"sweep_s\"", "\"swoop_s\""), "damaged"},
           {with(good, "\"sweep_s\": ", "\"sweep_s\": -"), "sweep_s"},
           {with(good, "\"sweep_s\": ", "\"sweep_s\": null, \"x\": "), "numbers"},
           {with(good, "\"measured_s\": 0.0125", "\"measured_s\": 0"), "positive"},
           {text_of(foreign), "Another Processor"}})
    expect_refused(text, words);
  EXPECT_THROW(make_cpu_state(4, Precision::kDouble)->cost_model(), Error) << "for any state";
}

TEST_F(RatesFiles, are_found_where_the_variable_says) {
  const auto cpu_file = [] { return find(Kind::kCpu, cpu::processor(), cpu::cpu_number_list()); };
  EXPECT_EQ(cpu_file(), nullptr);
  write(place_of(Kind::kCpu, cpu::processor()), text_of(some_file()));
  ASSERT_TRUE(cpu_file());
  EXPECT_EQ(cpu_file()->path, place_of(Kind::kCpu, cpu::processor()));
  EXPECT_EQ(fs::path(cpu_file()->path).parent_path(), folder_);
  use("off");
  EXPECT_EQ(cpu_file(), nullptr);
  EXPECT_EQ(place_of(Kind::kCpu, cpu::processor()), "");
  const fs::path named = folder_ / "mine.json";
  use(named.string());
  EXPECT_THROW(cpu_file(), Error) << "a file that is named has to be there";
  write(named, text_of(some_file()));
  ASSERT_TRUE(cpu_file());
  // one that is named says nothing of devices of the other kind
  EXPECT_EQ(find(Kind::kCuda, "NVIDIA H200", tile::device_number_list()), nullptr);
  {
    const Unknown unknown;
    EXPECT_EQ(cpu_file(), nullptr);
  }
  EXPECT_TRUE(cpu_file());
}

// Where there is no place for files the device is not asked for its model; places that cannot be looked
// at end no run unless the user named them.
TEST_F(RatesFiles, are_looked_for_in_places_that_are_there) {
  const auto cpu_file = [] { return find(Kind::kCpu, cpu::processor(), cpu::cpu_number_list()); };
  EXPECT_TRUE(may_find());
  use("off");
  EXPECT_FALSE(may_find());
  const std::string nowhere(300, 'x');  // longer than a name may be
  use(nowhere);
  EXPECT_TRUE(may_find());
  EXPECT_THROW(cpu_file(), Error);
  EXPECT_THROW(cpu::tuned_cpu(), Error);

  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const std::string before = cache ? cache : "";
  unsetenv("TILEWAVE_RATES");
  for (const std::string& folder : {nowhere, (folder_ / "cache").string()}) {
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    forget();
    EXPECT_FALSE(may_find()) << folder;
    EXPECT_EQ(cpu_file(), nullptr) << folder;
    EXPECT_EQ(cpu::tuned_cpu(), nullptr) << folder;
  }
  const std::string place = place_of(Kind::kCpu, cpu::processor());
  fs::create_directories(fs::path(place).parent_path());
  write(place, text_of(some_file()));
  EXPECT_TRUE(may_find());
  EXPECT_TRUE(cpu::tuned_cpu());
  cache ? setenv("XDG_CACHE_HOME", before.c_str(), 1) : unsetenv("XDG_CACHE_HOME");
}

TEST_F(RatesFiles, are_shipped_for_the_cards_that_were_measured) {
  const auto list = tile::device_number_list();
  for (const char* card : {"NVIDIA H200", "NVIDIA H100 80GB HBM3"}) {
    const auto file = shipped(Kind::kCuda, card, list);
    ASSERT_TRUE(file) << card;
    EXPECT_EQ(file->device, card);
    const tile::DeviceNumbers n = from_flat<tile::DeviceNumbers>(file->of(Precision::kDouble));
    EXPECT_GT(1 / n.byte_s, 2e12);
    EXPECT_LT(1 / n.byte_s, 5e12);
    EXPECT_EQ(flat_of(n), file->of(Precision::kDouble));
  }
  EXPECT_EQ(shipped(Kind::kCuda, "NVIDIA Something", list), nullptr);
}

// Plans are compared by the file's rates: where tiles of twice the size move as fast as others, plans
// have them, and where they are slow none has; where matrices cost nothing, gates become matrices.
TEST_F(RatesFiles, change_plans) {
  const auto plan_with = [&](auto change) {
    RatesFile file = some_file();
    cpu::CpuNumbers numbers = cpu::model_numbers(true);
    change(numbers);
    file.of(Precision::kDouble) = flat_of(numbers);
    write(place_of(Kind::kCpu, cpu::processor()), text_of(file));
    const auto state = make_cpu_state(22, Precision::kDouble, 1);
    EXPECT_DOUBLE_EQ(state->cost_model().steps.lift_s, numbers.rates[cpu::kTermLift]);
    PlanOptions options = state->plan_options();
    options.from_zeros = false;
    options.known_zero = 0;
    return make_plan(circuit::make_family("qaoa", 22), options);
  };
  const Plan narrow = plan_with([](cpu::CpuNumbers& n) { n.rates[cpu::kTermWideByte] *= 20; });
  const Plan wide = plan_with([](cpu::CpuNumbers& n) {
    n.rates[cpu::kTermWideByte] *= 0.01;
    n.rates[cpu::kTermByte] *= 3;
    n.rates[cpu::kTermRunByte] *= 3;
  });
  EXPECT_EQ(narrow.tile_qubits, cpu::kTileBitsDouble);
  EXPECT_EQ(wide.tile_qubits, cpu::kTileBitsDouble + 1);
  const auto matrices = [](const Plan& plan) {
    std::size_t count = 0;
    for (const Pass& pass : plan.passes)
      for (const Action& a : pass.actions) count += a.kind == ActionKind::kMatrix;
    return count;
  };
  EXPECT_EQ(matrices(plan_with([](cpu::CpuNumbers& n) { n.multiply_s *= 100; })), 0u);
  EXPECT_GT(matrices(plan_with([](cpu::CpuNumbers& n) { n.multiply_s *= 1e-3; })), 0u);
}

TEST_F(RatesFiles, tell_what_states_and_threads_cost) {
  cpu::CpuNumbers n = cpu::model_numbers(true);
  n.near = {0.2, 0.4, 0.6, 0.8};
  n.alone_byte_s = 1.5 * n.rates[cpu::kTermByte];
  EXPECT_EQ(n.near_share(0x1p19), 0.2);
  EXPECT_EQ(n.near_share(0x1p22), 0.4);
  EXPECT_NEAR(n.near_share(0x1p23), 0.5, 1e-12);
  EXPECT_NEAR(n.near_share(0x1p27), 0.9, 1e-12);
  EXPECT_EQ(n.near_share(0x1p30), 1);
  const double byte_s = n.rates[cpu::kTermByte];
  for (const auto& [threads, far] : {std::pair{1, 1.5}, {2, 1.0}, {8, 1.0}}) {
    CostModel cost;
    set_costs(cost, n, 0x1p24, threads);
    EXPECT_NEAR(cost.bandwidth, 1 / (0.6 * far * byte_s), 1e-6 * cost.bandwidth) << threads;
    EXPECT_NEAR(cost.steps.sweep_s, n.rates[cpu::kTermSweep] / threads, 1e-20);
    EXPECT_NEAR(cost.lift_s, n.lift_s / threads, 1e-20);
  }
}

}  // namespace
}  // namespace tilewave::statevec::rates
