// sigaction and signal of the C library, replaced in programs of the API: the handler for SIGSEGV
// by which the arrays of registers work (faults.h) stays the first, and one that a program installs
// later, as test frameworks do for every test, gets all other faults, in whichever order the two
// came. Weak, so that a program may have functions of these names. Nothing here allocates.
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <signal.h>

#include "tilewave/quest/core/faults.h"

extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*);  // the C library's own

namespace {

using Call = int (*)(int, const struct sigaction*, struct sigaction*);

// That of a sanitizer or a preloaded library where there is one.
Call next() {
  static const Call found = [] {
    const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "sigaction"));
    return call && call != &::sigaction ? call : &__sigaction;
  }();
  return found;
}

[[maybe_unused]] const Call g_found_early = next();

}  // namespace

int tilewave::quest::system_sigaction(int number, const struct sigaction* action,
                                      struct sigaction* before) {
  return next()(number, action, before);
}

extern "C" {

__attribute__((weak)) int sigaction(int number, const struct sigaction* action,
                                    struct sigaction* before) noexcept {
  if (number == SIGSEGV && tilewave::quest::exchange_handler(action, before)) return 0;
  return next()(number, action, before);
}

__attribute__((weak)) sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction action {
  }, before{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
}
