// Whatever bytes come over a connection: requests are read or refused, and each one that is read
// gets exactly one answer, which is JSON where it says so.
#include <cstddef>
#include <cstdint>
#include <deque>
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
  void post(std::function<void()> task) override { tasks_.push_back(std::move(task)); }

  std::shared_ptr<void> after(Duration, std::function<void()>) override {
    return std::make_shared<int>(0);
  }

  void run() {
    while (!tasks_.empty()) {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }

 private:
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
      const bool may_wait = request.target.find("/members") != std::string::npos ||
                            request.target.find("/logs") != std::string::npos;
      const auto judge = std::make_shared<Judge>();
      world.service.handle(std::move(request), judge);
      world.queue->run();
      invariant(judge->answers == 1 || (judge->answers == 0 && may_wait), "one answer each");
    }
  }
  return 0;
}
