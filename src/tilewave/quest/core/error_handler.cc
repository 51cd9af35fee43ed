// The default answer to an invalid call: the function and the message on standard error, then exit
// with status 1, as programs of this API expect. Of several processes rank 0 prints its own message
// or the one it hears of, and ends all. A program's own definition replaces this weak one.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tilewave/runtime/ranks.h"

extern "C" __attribute__((weak)) void invalidQuESTInputError(const char* errMsg,
                                                             const char* errFunc) {
  std::string message = std::string(errFunc) + ": " + errMsg;
  const auto ranks = tilewave::runtime::joined_ranks();
  const int rank = tilewave::runtime::launch().rank;
  if (ranks && rank > 0) message = ranks->report_failure(message);
  // before the processes have met all find the same, and one is to say it
  const bool speaks = ranks || tilewave::runtime::tells_why_not_joined();
  if (!speaks) sleep(2);
  if (speaks) std::fprintf(stderr, "error: %s\n", message.c_str());
  std::fflush(nullptr);
  if (ranks) ranks->abort(EXIT_FAILURE);
  std::exit(EXIT_FAILURE);
}
