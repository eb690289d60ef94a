// The worker of the SDK's tests: a process of its own, with methods that do what a test needs.
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/sdk/channel.hpp"
#include "runtime/sdk/worker.hpp"

namespace {

namespace sdk = orrery::sdk;

/// A class whose instance is exposed.
class Counter {
 public:
  explicit Counter(int start) : count_(start) {}

  static void methods(sdk::Methods<Counter>& methods) {
    methods.add("count", &Counter::count)
        .add("add_count", &Counter::add_count, {.parameters = {"by"}})
        .add("add_count_again", &Counter::add_count, {.idempotent = true});
  }

  int count() const { return count_; }

  int add_count(int by) { return count_ += by; }

 private:
  int count_;
};

/// A method waits here until another one opens it, or no caller waits for the first.
class Gate {
 public:
  bool wait(const sdk::Context& context) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    while (!open_ && !context.cancelled()) changed_.wait_for(lock, std::chrono::milliseconds(2));
    --waiting_;
    if (!open_) ++cancelled_;
    const bool out = std::exchange(open_, false);
    changed_.notify_all();
    return out;
  }

  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  /// Once so many calls have been cancelled while they waited.
  int cancelled(int wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return cancelled_ >= wanted; });
    return cancelled_;
  }

  /// Once a call waits.
  bool is_waited_at() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
  int cancelled_ = 0;
};

struct OddError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

int main() {
  sdk::Worker worker = sdk::Worker::join({.message_max = 1 << 23});
  if (std::getenv("REGISTERS_LATE") != nullptr) {
    std::string ignored;
    std::getline(std::cin, ignored);
  }
  Gate gate;
  std::mutex mutex;
  std::vector<std::string> log;
  sdk::Value recorded = sdk::Value::array();
  const auto note = [&](const std::string& line) {
    const std::scoped_lock lock(mutex);
    log.push_back(line);
  };
  worker.expose(std::make_shared<Counter>(0));
  worker.method("add", [](int a, int b) { return a + b; }, {.parameters = {"a", "b"}});
  worker.method("echo", [](sdk::Value value) { return value; }, {.parameters = {"value"}});
  worker.method("all", [](sdk::Arguments all) {
    return sdk::Value{{"positional", all.positional}, {"named", all.named}};
  });
  worker.method("bytes",
                [](std::size_t size) { return sdk::Buffer{std::vector<std::uint8_t>(size, 7)}; });
  worker.method("sum", [](sdk::Buffer buffer) {
    std::uint64_t out = 0;
    for (const std::uint8_t byte : buffer.bytes) out += byte;
    return out;
  });
  worker.method("perhaps",
                [](int a, std::optional<int> b) { return b ? a + *b : -1; },
                {.parameters = {"a", "b"}});
  worker.method("fail", [](const std::string& message) { throw OddError(message); });
  worker.method("fail_oddly", [] { throw 3; });
  worker.method("refuse", [] { throw sdk::BadArguments("found nothing, needed more; give more"); });
  worker.method("log", [&](const std::string& line) { note(line); });
  worker.method("read_log",
                [&] {
                  const std::scoped_lock lock(mutex);
                  return log;
                },
                {.concurrent = true});
  worker.method("hold", [&](sdk::Context& context) {
    note("hold");
    return gate.wait(context);
  });
  // Ends as soon as it hears that no caller waits, as a long method does.
  worker.method("hold_and_check", [&](sdk::Context& context) {
    const bool out = gate.wait(context);
    context.check();
    return out;
  });
  worker.method("hold_idempotent",
                [&](sdk::Context& context) { return gate.wait(context); },
                {.idempotent = true});
  worker.method("hold_beside",
                [&](sdk::Context& context) { return gate.wait(context); },
                {.concurrent = true});
  worker.method("open", [&] { gate.open(); }, {.concurrent = true});
  worker.method("is_held", [&] { return gate.is_waited_at(); }, {.concurrent = true});
  worker.method(
      "cancelled", [&](int wanted) { return gate.cancelled(wanted); }, {.concurrent = true});
  worker.method("count_to",
                [](sdk::Items<int>& items, int last) {
                  for (int i = 1; i <= last; ++i) items.put(i);
                },
                {.parameters = {"last"}});
  worker.method("count_and_fail", [](sdk::Items<int>& items) {
    items.put(1);
    throw OddError("after one");
  });
  worker.method("endless", [&](sdk::Context& context, sdk::Items<int>& items) {
    int put = 0;
    try {
      while (true) {
        items.put(put);
        ++put;
      }
    } catch (const sdk::Cancelled&) {
      note("endless put " + std::to_string(put));
      context.check();
    }
  });
  worker.method("context",
                [](sdk::Context& context) {
                  return sdk::Value{{"caller", context.caller()},
                                    {"method", context.method()},
                                    {"left_ms", context.left().count()},
                                    {"cancelled", context.cancelled()},
                                    {"attempt", context.attempt()}};
                },
                {.idempotent = true});
  // What the calls of a group record, and give back.
  worker.method("record", [&](sdk::Arguments all) {
    const std::scoped_lock lock(mutex);
    recorded.push_back({{"positional", all.positional}, {"named", all.named}});
    return sdk::Value{{"rank", worker.role_rank()}, {"named", all.named}};
  });
  worker.method("recorded", [&] {
    const std::scoped_lock lock(mutex);
    return std::exchange(recorded, sdk::Value::array());
  });
  worker.method("double_all", [](std::vector<int> numbers, int factor) {
    for (int& number : numbers) number *= factor;
    return numbers;
  });
  worker.method("fail_at",
                [&](std::int64_t rank) {
                  if (worker.role_rank() == rank) throw OddError("as asked");
                  return worker.role_rank();
                },
                {.parameters = {"rank"}});
  worker.method("where", [&] {
    const sdk::Membership now = worker.membership();
    return sdk::Value{{"rank", now.rank},
                      {"role_rank", now.role_rank},
                      {"generation", now.generation},
                      {"world_size", now.world_size},
                      {"members", now.members.size()},
                      {"worker", worker.name()},
                      {"pid", ::getpid()}};
  });
  worker.method("die", [] { ::_exit(9); });
  worker.method("stop", [&] { worker.stop(); });
  worker.method("report", [&] {
    worker.report_profiling({{"step_time_s", 0.5}, {"reward", 3}});
    worker.report_progress({{"done", 12}});
  });
  worker.method("report_progress", [&](int done, bool checkpointed) {
    worker.report_progress({{"checkpointed", checkpointed}, {"done", done}});
  });
  worker.method("diagnose",
                [&](const std::string& fault,
                    const std::string& message,
                    const std::string& role,
                    std::int64_t rank) {
                  const sdk::Fault whose = fault == "mine"   ? sdk::Fault::Mine
                                           : fault == "node" ? sdk::Fault::Node
                                                             : sdk::Fault::Peer;
                  worker.diagnose({whose, message, role, rank});
                });
  worker.method("diagnose_no_text", [&] {
    worker.diagnose({sdk::Fault::Mine, "a \xff byte", "", -1});
  });
  // Ends as soon as it has been said.
  worker.method("diagnose_and_die", [&] {
    worker.diagnose({sdk::Fault::Node, "at the end", "", -1});
    ::_exit(9);
  });
  worker.method("call_peer",
                [&](const std::string& role, std::int64_t rank, const std::string& method) {
                  return worker.driver().worker(role, rank).call(method);
                });
  // Has the turn until it is opened; with a deadline that is told in milliseconds.
  worker.method("turn",
                [&](sdk::Context& context, int lease_ms, int deadline_ms) {
                  const sdk::Turn turn = worker.turn(std::chrono::milliseconds(lease_ms),
                                                     std::chrono::milliseconds(deadline_ms));
                  return gate.wait(context);
                },
                {.concurrent = true});
  // A worker uses its own channel as any other one does.
  worker.method("put_own", [&](int value) {
    const sdk::RemoteWorker own = worker.driver().worker_named(worker.name());
    return sdk::Channel::create(own, "own", {.capacity = 4}).put(value);
  });
  worker.on_membership(
      [&](const sdk::Membership& now) { note("generation " + std::to_string(now.generation)); });
  worker.on_drain([] { std::cout << "saved" << std::endl; });
  const char* lose = std::getenv("LOSE");
  const auto lose_peer = [] {
    sdk::Value details = {{"role", "actor"}, {"role_rank", 2}};
    if (const char* lost = std::getenv("LOST_WORKER")) details["worker"] = lost;
    throw sdk::WorkerLost({"WorkerLost", "it is gone", std::move(details)});
  };
  if (lose != nullptr) worker.on_membership([&](const sdk::Membership&) { lose_peer(); });
  if (lose != nullptr && lose == std::string("main")) {
    worker.start();
    lose_peer();
  }
  if (std::getenv("BLAMES_NODE") != nullptr) worker.diagnose({sdk::Fault::Node, "no link", "", -1});
  const auto work = [&] {
    if (std::getenv("RUN_BESIDE") == nullptr) return worker.serve();
    worker.start();
    std::condition_variable step;
    while (worker.safe_point()) {
      std::unique_lock lock(mutex);
      step.wait_for(lock, std::chrono::milliseconds(2));  // A step of the main loop.
    }
    return worker.exit_code();
  };
  if (std::getenv("CATCHES") == nullptr) return work();
  try {
    return work();
  } catch (const sdk::WorkerLost&) {
    return 5;
  }
}
