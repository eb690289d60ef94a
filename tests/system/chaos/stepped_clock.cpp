// Preloaded into a daemon: its time of day is the system's plus an offset in a file, which a test
// changes while the daemon runs. Other clocks are left alone.
//
// STEPPED_CLOCK names the file: nanoseconds, 8 bytes, in the machine's order. Whatever waits until
// a time of day waits as it would have if the system's clock had been stepped: it looks again and
// again.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLook = 20'000'000;  // How soon a wait sees a step.

const std::atomic<std::int64_t>* mapped_offset() {
  static std::atomic<std::int64_t> none{0};
  const char* path = getenv("STEPPED_CLOCK");
  if (path == nullptr) return &none;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &none;
  void* place = mmap(nullptr, sizeof none, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return place == MAP_FAILED ? &none : static_cast<const std::atomic<std::int64_t>*>(place);
}

std::int64_t offset() {
  static const std::atomic<std::int64_t>* const mapped = mapped_offset();
  return mapped->load(std::memory_order_relaxed);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::int64_t ns_of(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

timespec time_of(std::int64_t ns) { return {ns / kSecond, ns % kSecond}; }

bool is_time_of_day(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

/// The system's time of day.
std::int64_t real_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return ns_of(now) - offset();
}

/// The system's time at which to look again whether `until` of the stepped clock is reached.
timespec next_look(const timespec& until, bool& is_last) {
  const std::int64_t now = real_now();
  const std::int64_t left = ns_of(until) - offset() - now;
  is_last = left <= 0;
  return time_of(now + std::clamp<std::int64_t>(left, 0, kLook));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) {
  static auto* const original = next<int(clockid_t, timespec*)>("clock_gettime");
  const int result = original(clock, now);
  if (result == 0 && is_time_of_day(clock)) *now = time_of(ns_of(*now) + offset());
  return result;
}

int gettimeofday(timeval* now, void*) {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* to) {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  if (to != nullptr) *to = exact.tv_sec;
  return exact.tv_sec;
}

// Of the calls by number only that of a wait until a time of day is another: absl, and so gRPC,
// waits so.
long syscall(long number, ...) {
  static auto* const original = next<long(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  const auto call = [&](long until) {
    return original(number, words[0], words[1], words[2], until, words[4], words[5]);
  };
  const bool waits = number == SYS_futex && (words[1] & FUTEX_CLOCK_REALTIME) != 0 && words[3] != 0;
  if (!waits) return call(words[3]);
  const timespec until = *reinterpret_cast<const timespec*>(words[3]);
  while (true) {
    bool is_last = false;
    const timespec look = next_look(until, is_last);
    const long result = call(reinterpret_cast<long>(&look));
    if (result == 0 || errno != ETIMEDOUT || is_last) return result;
  }
}
}
