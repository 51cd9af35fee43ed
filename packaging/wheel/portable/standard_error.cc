// Debian's archives of libpng and libjpeg refer to `stderr` in a way that a shared object cannot keep to a variable of libc. In a
// portable build the linker gives them this copy (--wrap=stderr), which is set before anything else runs and stays.
#include <cstdio>

extern "C" {
extern FILE* __real_stderr;
__attribute__((visibility("hidden"))) FILE* __wrap_stderr = nullptr;
}

namespace {
__attribute__((constructor(101))) void set_standard_error() { __wrap_stderr = __real_stderr; }
}  // namespace
