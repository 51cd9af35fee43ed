// Registers and the environment.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tilewave/quest/api/call.h"
#include "tilewave/quest/core/random.h"
#include "tilewave/quest/core/settings.h"
#include "tilewave/runtime/machine.h"

using namespace tilewave::quest;

namespace {

Qureg make(int num_qubits, bool is_density, const QuESTEnv& env) {
  check_new_qubits(num_qubits, tilewave::statevec::kMaxQubits / (is_density ? 2 : 1));
  const int state_qubits = is_density ? 2 * num_qubits : num_qubits;
  check_share(1LL << state_qubits, env.numRanks, num_qubits, "register", Words::kTooFewQubits);
  TilewaveSlot* slot = nullptr;
  try {
    slot = take_slot(std::make_unique<Register>(num_qubits, is_density, kPrecision));
  } catch (const tilewave::Error& e) {
    fail(e.code() == tilewave::ExitCode::kResources ? Words::kRegisterMemory : Words::kNone,
         "numQubits is ", num_qubits, ": ", e.what());
  }
  Register& r = *slot->content;
  Qureg q{};
  q.isDensityMatrix = is_density;
  q.numQubitsRepresented = num_qubits;
  q.numQubitsInStateVec = r.num_state_qubits();
  q.numAmpsTotal = static_cast<long long>(r.num_amplitudes());
  q.numChunks = num_ranks();
  q.chunkId = rank();
  q.numAmpsPerChunk = q.numAmpsTotal / q.numChunks;
  q.stateVec = {static_cast<qreal*>(r.mirror().real()), static_cast<qreal*>(r.mirror().imag())};
  q.slot = slot;
  q.generation = slot->generation;
  return q;
}

// The same on all processes: those of the first.
void set_seeds(QuESTEnv* env, const unsigned long* keys, int count) {
  agree(&count, sizeof count);
  auto* copy = static_cast<unsigned long*>(std::malloc(sizeof(unsigned long) * count));
  if (!copy) throw std::bad_alloc();
  if (is_root()) std::memcpy(copy, keys, sizeof(unsigned long) * count);
  agree(copy, sizeof(unsigned long) * count);
  std::free(env->seeds);
  env->seeds = copy;
  env->numSeeds = count;
  seed_random({copy, static_cast<std::size_t>(count)});
}

// Time and process.
std::array<unsigned long, 2> default_keys() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {static_cast<unsigned long>(
              std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
          static_cast<unsigned long>(getpid())};
}

void default_seeds(QuESTEnv* env) { set_seeds(env, default_keys().data(), 2); }

// Without an environment to keep them: the root's keys on all processes.
void seed_by(const unsigned long* keys, int count) {
  QuESTEnv nobody{};
  set_seeds(&nobody, keys, count);
  std::free(nobody.seeds);
}

// Words "key=value" alone, as programs take them apart: QuEST's five, then ours.
std::string environment_text() {
  const Settings& s = settings();
  return std::string("CUDA=") + (tilewave::runtime::built_with_cuda() ? "1" : "0") +
         " OpenMP=1 MPI=" + (processes() ? "1" : "0") +
         " threads=" + std::to_string(num_threads()) +
         " ranks=" + std::to_string(std::max(num_ranks(), s.num_ranks)) +
         " device=" + s.device.text() + " precision=" + std::to_string(QuEST_PREC);
}

}  // namespace

QuESTEnv createQuESTEnv(void) {
  return call(__func__, [&] {
    open_environment();
    settings();  // what is wrong there is told here, not by the first register
    QuESTEnv env{};
    env.numRanks = num_ranks();
    env.rank = rank();
    default_seeds(&env);
    return env;
  });
}

void destroyQuESTEnv(QuESTEnv env) {
  std::free(env.seeds);
  close_environment();
}

void syncQuESTEnv(QuESTEnv) {
  call(__func__, [&] {
    for_each_register([](Register& r) { processes() ? r.sync() : static_cast<void>(r.state()); });
    all_agree(true);  // and all have come here
  });
}

int syncQuESTSuccess(int successCode) {
  return call(__func__, [&] { return static_cast<int>(all_agree(successCode != 0)); });
}

void reportQuESTEnv(QuESTEnv) {
  call(__func__, [&] {
    if (is_root()) std::printf("Tilewave: %s\n", environment_text().c_str());
  });
}

void getEnvironmentString(QuESTEnv, char str[200]) {
  call(__func__, [&] {
    check_pointer(str, "str");
    std::snprintf(str, 200, "%s", environment_text().c_str());
  });
}

void seedQuESTDefault(QuESTEnv* env) {
  call(__func__, [&] {
    check_pointer(env, "env");
    default_seeds(env);
  });
}

void seedQuEST(QuESTEnv* env, unsigned long int* seedArray, int numSeeds) {
  call(__func__, [&] {
    check_pointer(env, "env");
    check_pointer(seedArray, "seedArray");
    check_range(numSeeds, 1, 1 << 20, "numSeeds");
    set_seeds(env, seedArray, numSeeds);
  });
}

void tilewave_seedQuEST(unsigned long int* seedArray, int numSeeds) {
  call(__func__, [&] {
    check_pointer(seedArray, "seedArray");
    check_range(numSeeds, 1, 1 << 20, "numSeeds");
    seed_by(seedArray, numSeeds);
  });
}

void tilewave_seedQuESTDefault(void) {
  call(__func__, [] { seed_by(default_keys().data(), 2); });
}

void getQuESTSeeds(QuESTEnv env, unsigned long int** seeds, int* numSeeds) {
  call(__func__, [&] {
    check_pointer(seeds, "seeds");
    check_pointer(numSeeds, "numSeeds");
    *seeds = env.seeds;
    *numSeeds = env.numSeeds;
  });
}

Qureg createQureg(int numQubits, QuESTEnv env) {
  return call(__func__, [&] { return make(numQubits, false, env); });
}

Qureg createDensityQureg(int numQubits, QuESTEnv env) {
  return call(__func__, [&] { return make(numQubits, true, env); });
}

Qureg createCloneQureg(Qureg qureg, QuESTEnv env) {
  return call(__func__, [&] {
    Register& source = use(qureg);
    const Qureg copy = make(source.num_qubits(), source.is_density(), env);
    try {
      copy.slot->content->clone_from(source);
    } catch (...) {
      destroyQureg(copy, env);
      throw;
    }
    return copy;
  });
}

void destroyQureg(Qureg qureg, QuESTEnv) {
  call(__func__, [&] {
    use(qureg);
    free_slot(qureg.slot);
  });
}

int getNumQubits(Qureg qureg) {
  return call(__func__, [&] { return use(qureg).num_qubits(); });
}

long long int getNumAmps(Qureg qureg) {
  return call(__func__, [&] {
    Register& r = use_vector(qureg);
    return static_cast<long long>(r.num_amplitudes());
  });
}
