#include "runtime/workers/drain.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

namespace orrery::worker {

Drain::Drain() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  thread_ = std::thread([this] { run(); });
}

Drain::~Drain() {
  end_.set();
  thread_.join();
}

void Drain::run() {
  for (;;) {
    pollfd set[] = {{signals_.number(), POLLIN, 0}, {end_.descriptor(), POLLIN, 0}};
    ::poll(set, 2, -1);
    if (end_.is_set()) return;
    signalfd_siginfo said{};
    if (::read(signals_.number(), &said, sizeof said) != sizeof said) continue;
    const std::scoped_lock lock(mutex_);
    signal_ = static_cast<int>(said.ssi_signo);
    changed_.notify_all();
    if (wake_) wake_();
  }
}

int Drain::asked() const {
  const std::scoped_lock lock(mutex_);
  return signal_;
}

int Drain::wait(Milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return signal_ != 0; });
  return signal_;
}

void Drain::on_asked(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  wake_ = std::move(wake);
  if (wake_ && signal_ != 0) wake_();
}

}  // namespace orrery::worker
