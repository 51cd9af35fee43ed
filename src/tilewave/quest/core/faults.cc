// See faults.h. The handler runs on the stack of the thread that faulted, at a plain load or store
// of the program, where all of the library may be called; a fault inside it is passed on.
#include "tilewave/quest/core/faults.h"

#include <pthread.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <limits>
#include <vector>

#include "tilewave/quest/core/session.h"
#include "tilewave/quest/core/wait_lock.h"

extern "C" void invalidQuESTInputError(const char* errMsg, const char* errFunc);

namespace tilewave::quest {
namespace {

// No mirror lies outside [g_low, g_high): the quick answer for file calls, which signal handlers
// and programs without registers make too.
constinit std::atomic<std::uintptr_t> g_low{std::numeric_limits<std::uintptr_t>::max()}, g_high{0};

struct Faults {
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  std::vector<Mirror*> mirrors;
  struct sigaction previous {};
  bool installed = false;
};

Faults& faults() {
  static Faults* const instance = new Faults;  // outlives every register
  return *instance;
}

thread_local bool t_serving = false;

Mirror* find(const void* address, std::size_t bytes) {
  Faults& f = faults();
  const WaitLock lock(f.lock);
  for (Mirror* m : f.mirrors) {
    if (m->overlaps(address, bytes)) return m;
  }
  return nullptr;
}

// The access that faulted; kNone where this kind of processor does not say.
Access faulted(const void* context) {
#ifdef REG_ERR  // what an x86 processor says about a fault
  constexpr greg_t kWriteBit = 2;
  const auto* c = static_cast<const ucontext_t*>(context);
  return c->uc_mcontext.gregs[REG_ERR] & kWriteBit ? Access::kWrite : Access::kRead;
#else
  (void)context;
  return Access::kNone;
#endif
}

// False when the address is in no mirror.
bool serve(const void* address, std::size_t bytes, Access wanted) {
  Mirror* const mirror = find(address, bytes);
  if (!mirror) return false;
  if (wanted == Access::kNone) wanted = mirror->is_closed() ? Access::kRead : Access::kWrite;
  const char* message = nullptr;
  try {
    t_serving = true;
    mirror->open(wanted);
    t_serving = false;
    return true;
  } catch (const std::exception&) {
    t_serving = false;
    message = describe_error();
  }
  invalidQuESTInputError(message, "stateVec");
  return false;
}

void set_default_handler(struct sigaction& action) {
  action = {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
}

// To the program's handler.
void pass_on(int signal_number, siginfo_t* info, void* context) {
  const struct sigaction previous = faults().previous;
  if (previous.sa_flags & static_cast<int>(SA_RESETHAND)) set_default_handler(faults().previous);
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal_number, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal_number);
  } else {  // the fault repeats and ends the program as it would have
    struct sigaction none {};
    set_default_handler(none);
    system_sigaction(SIGSEGV, &none, nullptr);
    if (info->si_code <= 0) raise(SIGSEGV);
  }
}

void on_fault(int signal_number, siginfo_t* info, void* context) {
  const int saved = errno;
  // an address of the kernel's choice (si_code <= 0: sent by kill or raise) is none of ours
  if (!t_serving && info->si_code > 0 && serve(info->si_addr, 1, faulted(context))) {
    errno = saved;
    return;
  }
  errno = saved;
  pass_on(signal_number, info, context);
}

}  // namespace

void watch(Mirror* mirror) {
  link_file_calls();
  Faults& f = faults();
  const WaitLock lock(f.lock);
  f.mirrors.push_back(mirror);
  const auto first = reinterpret_cast<std::uintptr_t>(mirror->real());
  const auto half = reinterpret_cast<std::uintptr_t>(mirror->imag()) - first;
  g_low = std::min(g_low.load(), first);
  g_high = std::max(g_high.load(), first + 2 * half);
  if (f.installed) return;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  system_sigaction(SIGSEGV, &action, &f.previous);
  // a child is not to find the list locked by a thread it does not have
  const auto release_list = [] { release(faults().lock); };
  pthread_atfork([] { acquire(faults().lock); }, release_list, release_list);
  f.installed = true;
}

bool exchange_handler(const struct sigaction* action, struct sigaction* before) {
  Faults& f = faults();
  const WaitLock lock(f.lock);
  if (!f.installed) return false;
  const struct sigaction next = action ? *action : f.previous;
  if (before) *before = f.previous;
  f.previous = next;
  return true;
}

void unwatch(Mirror* mirror) {
  Faults& f = faults();
  const WaitLock lock(f.lock);
  f.mirrors.erase(std::remove(f.mirrors.begin(), f.mirrors.end(), mirror), f.mirrors.end());
}

void open_arrays(std::uintptr_t address, std::size_t bytes, Access wanted) {
  if (bytes == 0 || address >= g_high.load(std::memory_order_relaxed)) return;
  const std::uintptr_t low = g_low.load(std::memory_order_relaxed);
  if (address < low && bytes <= low - address) return;
  if (!t_serving) serve(reinterpret_cast<const void*>(address), bytes, wanted);
}

}  // namespace tilewave::quest
