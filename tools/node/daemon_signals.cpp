#include "tools/node/daemon_signals.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

constexpr std::uint64_t kDescriptorMax = 1'000'000;

}  // namespace

void hold_signals() {
  const sigset_t set = interrupt_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void wait_for_stop() {
  const sigset_t set = interrupt_signals();
  int caught = 0;
  while (sigwait(&set, &caught) != 0) {
  }
  release_interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

Status tell_ready(const Arguments& arguments, const std::string& line) {
  const auto text = arguments.value("--ready-fd");
  if (!text) return Done{};
  const auto number = whole_number("--ready-fd", *text, 0, kDescriptorMax);
  if (!number) return number.errors();
  const int descriptor = static_cast<int>(*number);
  const std::string whole = line + "\n";
  if (::write(descriptor, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
    return Error{.subject = "--ready-fd",
                 .message = "descriptor " + *text + " cannot be written to: " +
                            std::strerror(errno) + "; pass one that is open"};
  ::close(descriptor);
  return Done{};
}

Status bind_to_parent(const Arguments& arguments) {
  const auto text = arguments.value("--parent");
  if (!text) return Done{};
  const auto parent = whole_number("--parent", *text, 1, std::numeric_limits<pid_t>::max());
  if (!parent) return parent.errors();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != static_cast<pid_t>(*parent)) _exit(static_cast<int>(ExitCode::Interrupted));
  return Done{};
}

}  // namespace orrery::cli
