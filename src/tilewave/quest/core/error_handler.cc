// The default answer to an invalid call: the message on standard error, then exit with status 1, as
// programs of this API expect. A program's own definition replaces this weak one.
#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((weak)) void invalidQuESTInputError(const char* errMsg, const char*) {
  std::fprintf(stderr, "error: %s\n", errMsg);
  std::exit(EXIT_FAILURE);
}
