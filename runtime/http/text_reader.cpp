#include "runtime/http/text_reader.hpp"

#include <csignal>
#include <utility>

namespace orrery::http {

TextReader::TextReader(ReadJobText read, std::shared_ptr<Executor> executor)
    : read_(std::move(read)), executor_(std::move(executor)) {
  if (read_) thread_ = std::thread([this] { work(); });
}

void TextReader::stop() {
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool TextReader::read(JobText text, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= kTextsWaitingMax) return false;
    waiting_.push_back({std::move(text), std::move(done)});
  }
  changed_.notify_one();
  return true;
}

void TextReader::work() {
  // Signals are for the thread that waits for them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    auto jobs = std::make_shared<Result<ReadJobs>>(read_(task.text));
    executor_->post([done = std::move(task.done), jobs] { done(std::move(*jobs)); });
    task = {};
    lock.lock();
  }
}

}  // namespace orrery::http
