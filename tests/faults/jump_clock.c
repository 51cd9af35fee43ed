// Preloaded into a program: the clock of the day jumps an hour ahead or back at every look.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long jump(void) {
  static long looks = 0;
  return ++looks % 2 ? 3600 : -3600;
}

int clock_gettime(clockid_t clock, struct timespec* to) {
  const int result = (int)syscall(SYS_clock_gettime, clock, to);
  if (result == 0 && clock == CLOCK_REALTIME) to->tv_sec += jump();
  return result;
}
int gettimeofday(struct timeval* restrict to, void* restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  to->tv_sec = now.tv_sec;
  to->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t* to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}
