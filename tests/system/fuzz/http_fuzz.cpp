// Whatever bytes come over a connection: requests are read or refused, and each one that is read
// gets exactly one answer, which is JSON where it says so.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/invariant.hpp"
#include "runtime/http/request_reader.hpp"
#include "runtime/http/service.hpp"
#include "tests/runtime/http/fake_control.hpp"
#include "tests/support/job_builders.hpp"

namespace {

using namespace orrery;

/// Runs what is posted when it is told to; time stands still.
class Queue final : public http::Executor {
 public:
  void post(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

  std::shared_ptr<void> after(Duration, std::function<void()>) override {
    return std::make_shared<int>(0);
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!tasks_.empty()) run_one(lock);
  }

  /// Job files are read on a thread of their own, which posts what comes next.
  void run_until(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    while (!done()) {
      changed_.wait(lock, [&] { return !tasks_.empty(); });
      run_one(lock);
    }
  }

 private:
  void run_one(std::unique_lock<std::mutex>& lock) {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
};

/// Checks the one answer.
class Judge final : public http::Exchange {
 public:
  void respond(http::Response response) override {
    ++answers;
    invariant(response.status >= 200 && response.status < 600, "a status of HTTP");
    if (response.content_type == "application/json" && response.status != 204)
      invariant(nlohmann::json::accept(response.body), "an answer in JSON is JSON");
  }

  void begin(http::Response) override { ++answers; }

  void write(std::string) override {}

  void finish() override {}

  void abort() override {}

  bool is_open() const override { return answers == 0; }

  void keep(std::shared_ptr<void> something) override { kept_ = std::move(something); }

  int answers = 0;

 private:
  std::shared_ptr<void> kept_;
};

Result<http::ReadJobs> read_one(const http::JobText& text) {
  http::ReadJobs out;
  out.jobs.push_back(tests::JobBuilder("new").group(text.text.substr(0, 8)).spec());
  return out;
}

struct World {
  World()
      : service(
            control, queue, std::make_shared<http::Figures>(), {read_one, nullptr, nullptr, 1}) {
    control.running(tests::JobBuilder("a").replicas(2).role("actor", 1).spec(), 2);
    queue->run();
  }

  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  tests::FakeControl control{tests::FakeControl::Thread::Caller};
  http::Service service;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const World world;  // A fresh one each time, so that an input alone says what happens.
  http::RequestReader reader({2048, 4096});
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Half of it comes first, so that requests are put together from pieces.
  for (const std::string_view piece : {bytes.substr(0, size / 2), bytes.substr(size / 2)}) {
    reader.feed(piece);
    while (reader.look() == http::RequestReader::Found::Request) {
      http::Request request = reader.take();
      // What is posted is always answered: a job file is read by another thread, and an input is to
      // do the same each time.
      const std::string path = request.target.substr(0, request.target.find('?'));
      const bool may_wait =
          request.method != "POST" &&
          (path.find("/members") != std::string::npos || path.find("/logs") != std::string::npos);
      const auto judge = std::make_shared<Judge>();
      world.service.handle(std::move(request), judge);
      // One that is never answered is found by the time that an input may take.
      if (!may_wait) world.queue->run_until([&] { return judge->answers > 0; });
      world.queue->run();
      invariant(judge->answers == 1 || (judge->answers == 0 && may_wait), "one answer each");
    }
  }
  return 0;
}
