// Preloaded into a program: the allocation number FAIL_ALLOCATION (from 1) fails, those before and
// behind it succeed. Without that variable it counts: COUNT_ALLOCATIONS names the file for the number.
// Counted are malloc, calloc, realloc, what new calls, aligned memory, and anonymous mappings of 64
// KiB and more, from the first line of main on.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static atomic_long count;
static long fail_at = -1;
static atomic_int on;

static int fails(void) {
  if (!atomic_load(&on)) return 0;
  return atomic_fetch_add(&count, 1) + 1 == fail_at;
}

void* malloc(size_t size) {
  if (fails()) return errno = ENOMEM, (void*)0;
  return __libc_malloc(size);
}
void* calloc(size_t number, size_t size) {
  if (fails()) return errno = ENOMEM, (void*)0;
  return __libc_calloc(number, size);
}
void* realloc(void* old, size_t size) {
  if (fails()) return errno = ENOMEM, (void*)0;
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  if (fails()) return errno = ENOMEM, (void*)0;
  return __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
int posix_memalign(void** to, size_t alignment, size_t size) {
  void* at = aligned_alloc(alignment, size);
  if (!at) return ENOMEM;
  *to = at;
  return 0;
}
void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  if ((flags & MAP_ANONYMOUS) && size >= (64u << 10) && !(flags & MAP_STACK) && fails())
    return errno = ENOMEM, MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

static void tell(void) {
  const char* path = getenv("COUNT_ALLOCATIONS");
  if (!path) return;
  const long n = atomic_load(&count);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  char text[32];
  const int size = snprintf(text, sizeof text, "%ld\n", n);
  if (fd >= 0 && write(fd, text, (size_t)size) == size) close(fd);
}

// Main of the program, between the libraries' start and end.
typedef int (*Main)(int, char**, char**);
static Main real_main;
static int counted_main(int argc, char** argv, char** env) {
  atomic_store(&on, 1);
  const int code = real_main(argc, argv, env);
  atomic_store(&on, 0);
  tell();
  return code;
}

int __libc_start_main(Main main, int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  typedef int (*Start)(Main, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
  const char* text = getenv("FAIL_ALLOCATION");
  if (text) fail_at = atol(text);
  real_main = main;
  Start start;
  void* found = dlsym(RTLD_NEXT, "__libc_start_main");
  memcpy(&start, &found, sizeof start);
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
