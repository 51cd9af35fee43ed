// Lets the compiler build a plain loop for several instruction sets and choose at load time. For
// loops whose speed matters but that need no hand-written vectors.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TW_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TW_MULTIVERSION
#endif
