// What happened, in words: the last lines, and whoever follows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/controller/control_api.hpp"

namespace orrery::runtime {

/// Keeps the latest lines and hands new ones on. Any thread; no call follows the end of a
/// subscription, and none may end a subscription from inside a call.
class EventLines {
 public:
  explicit EventLines(std::size_t kept) : table_(std::make_shared<Table>()), kept_(kept) {}

  /// Numbers the line and hands it to everybody.
  void add(EventLine line);

  std::unique_ptr<Subscription> follow(std::size_t backlog,
                                       std::function<void(const EventLine&)> told);

 private:
  /// Outlives the lines where a subscription does.
  struct Table {
    std::mutex mutex;
    std::uint64_t next = 0;
    std::map<std::uint64_t, std::function<void(const EventLine&)>> followers;
    std::uint64_t last = 0;
    std::deque<EventLine> lines;
  };

  class Following;

  std::shared_ptr<Table> table_;
  std::size_t kept_;
};

/// The same for jobs that may have changed, without a memory.
class JobChanges {
 public:
  JobChanges() : table_(std::make_shared<Table>()) {}

  /// `job`: none where anything may have changed.
  void changed(JobId job);

  std::unique_ptr<Subscription> follow(std::function<void(JobId)> told);

 private:
  struct Table {
    std::mutex mutex;
    std::uint64_t next = 0;
    std::map<std::uint64_t, std::function<void(JobId)>> followers;
  };

  class Following;

  std::shared_ptr<Table> table_;
};

}  // namespace orrery::runtime
