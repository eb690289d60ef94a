#include "tools/console/interrupt.hpp"

#include <unistd.h>

#include <atomic>

namespace orrery::cli {
namespace {

// Set in a handler, and asked by every thread that waits.
std::atomic<int> interrupt_seen = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void on_interrupt(int) {
  if (interrupt_seen != 0) _exit(130);
  interrupt_seen = 1;
}

void on_last_interrupt(int) { _exit(130); }

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};

  action.sa_handler = handler;  // Without SA_RESTART: a waiting poll returns at once.
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);

  // A terminal that closes; who began the program so that it outlives its terminal ignores that.
  struct sigaction present {};

  sigaction(SIGHUP, nullptr, &present);
  if (present.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

void catch_interrupts() { set_handlers(on_interrupt); }

void release_interrupts() {
  interrupt_seen = 0;
  set_handlers(SIG_DFL);
}

void exit_at_interrupt() {
  interrupt_seen = 0;
  set_handlers(on_last_interrupt);
}

bool interrupted() { return interrupt_seen != 0; }

sigset_t interrupt_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace orrery::cli
