// What a portable build would else need of a glibc later than 2.26. Objects compiled with newer headers, and GCC's archive of the
// C++ library, call these functions; here they are built on what 2.26 has. Used with the stubs of an older glibc (see
// packaging/wheel/older_libc), which give every other function the version of that glibc.
//   arc4random              2.36   std::random_device
//   __libc_single_threaded  2.32   std::shared_ptr: whether its counts may do without atomic operations
//   pthread_cond_clockwait  2.30   std::condition_variable::wait_for
//   gettid                  2.30   the static CUDA runtime
//   exp, log, log2, pow     2.29   the same functions, which before set errno in a wrapper
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TW_HIDDEN __attribute__((visibility("hidden")))

namespace {

// What is left of the time until `end` on `clock`, as a time of CLOCK_REALTIME.
timespec on_real_clock(clockid_t clock, const timespec& end) {
  timespec now{}, real{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t left = (end.tv_sec - now.tv_sec) * kSecond + (end.tv_nsec - now.tv_nsec);
  const std::int64_t ns = real.tv_nsec + left % kSecond + kSecond;  // not negative
  real.tv_sec += left / kSecond - 1 + ns / kSecond;
  real.tv_nsec = ns % kSecond;
  return real;
}

using ClockWait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

}  // namespace

extern "C" {

TW_HIDDEN char __libc_single_threaded = 0;

TW_HIDDEN std::uint32_t arc4random() {
  std::uint32_t value = 0;
  ssize_t got = 0;
  do {
    got = getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof value)) std::abort();  // as glibc does
  return value;
}

// glibc's own where it has one; else the time is turned into one of the clock that older versions wait by.
TW_HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                     clockid_t clock, const timespec* end) {
  static const auto own =
      reinterpret_cast<ClockWait>(dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
  if (own) return own(condition, mutex, clock, end);
  const timespec real = on_real_clock(clock, *end);
  return pthread_cond_timedwait(condition, mutex, &real);
}

TW_HIDDEN pid_t gettid() { return static_cast<pid_t>(syscall(SYS_gettid)); }

#ifdef __aarch64__
#define TW_FIRST_GLIBC "GLIBC_2.17"
#else
#define TW_FIRST_GLIBC "GLIBC_2.2.5"
#endif
double exp_before_2_29(double);
double log_before_2_29(double);
double log2_before_2_29(double);
double pow_before_2_29(double, double);
__asm__(".symver exp_before_2_29, exp@" TW_FIRST_GLIBC);
__asm__(".symver log_before_2_29, log@" TW_FIRST_GLIBC);
__asm__(".symver log2_before_2_29, log2@" TW_FIRST_GLIBC);
__asm__(".symver pow_before_2_29, pow@" TW_FIRST_GLIBC);
TW_HIDDEN double __wrap_exp(double x) { return exp_before_2_29(x); }
TW_HIDDEN double __wrap_log(double x) { return log_before_2_29(x); }
TW_HIDDEN double __wrap_log2(double x) { return log2_before_2_29(x); }
TW_HIDDEN double __wrap_pow(double x, double y) { return pow_before_2_29(x, y); }
}
