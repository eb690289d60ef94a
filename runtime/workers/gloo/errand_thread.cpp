#include "runtime/workers/gloo/errand_thread.hpp"

#include <poll.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace orrery::worker {

struct ErrandThread::Shared {
  std::mutex mutex;
  std::condition_variable given;
  std::function<Outcome()> errand;  ///< Empty: none to do.
  std::shared_ptr<Cancel> ended;    ///< Set when the errand has ended.
  Outcome outcome;
  bool over = false;
};

ErrandThread::ErrandThread() : shared_(std::make_shared<Shared>()) {
  std::thread([shared = shared_] { work(shared); }).detach();
}

ErrandThread::~ErrandThread() {
  const std::scoped_lock lock(shared_->mutex);
  shared_->over = true;
  shared_->given.notify_all();
}

void ErrandThread::work(const std::shared_ptr<Shared>& shared) {
  for (;;) {
    std::function<Outcome()> errand;
    {
      std::unique_lock lock(shared->mutex);
      shared->given.wait(lock, [&] { return shared->over || shared->errand; });
      if (shared->over) return;
      errand = std::exchange(shared->errand, {});
    }
    Outcome outcome = errand();
    errand = {};  // What it holds goes before its caller hears of it.
    const std::scoped_lock lock(shared->mutex);
    shared->outcome = std::move(outcome);
    shared->ended->set();
  }
}

Outcome ErrandThread::run(std::function<Outcome()> errand,
                          const Limits& limits,
                          std::string_view what) {
  const auto ended = std::make_shared<Cancel>();
  {
    const std::scoped_lock lock(shared_->mutex);
    if (shared_->over) return Outcome::peer_lost("the group was left");
    shared_->ended = ended;
    shared_->errand = std::move(errand);
    shared_->given.notify_all();
  }
  Outcome waited = wait_ready(ended->descriptor(), POLLIN, limits, what);
  const std::scoped_lock lock(shared_->mutex);
  if (waited.ok()) return std::move(shared_->outcome);
  shared_->over = true;
  return waited;
}

}  // namespace orrery::worker
