#include "runtime/controller/event_lines.hpp"

#include <algorithm>
#include <utility>

namespace orrery::runtime {

class EventLines::Following final : public Subscription {
 public:
  Following(std::shared_ptr<Table> table, std::uint64_t number)
      : table_(std::move(table)), number_(number) {}

  ~Following() override {
    const std::lock_guard lock(table_->mutex);
    table_->followers.erase(number_);
  }

 private:
  std::shared_ptr<Table> table_;
  std::uint64_t number_;
};

void EventLines::add(EventLine line) {
  const std::lock_guard lock(table_->mutex);
  line.number = ++table_->last;
  std::deque<EventLine>& lines = table_->lines;
  lines.push_back(std::move(line));
  while (lines.size() > kept_) lines.pop_front();
  for (const auto& [number, told] : table_->followers) told(lines.back());
}

std::unique_ptr<Subscription> EventLines::follow(std::size_t backlog,
                                                 std::function<void(const EventLine&)> told) {
  const std::lock_guard lock(table_->mutex);
  const std::deque<EventLine>& lines = table_->lines;
  for (std::size_t i = lines.size() - std::min(backlog, lines.size()); i < lines.size(); ++i)
    told(lines[i]);
  const std::uint64_t number = ++table_->next;
  table_->followers.emplace(number, std::move(told));
  return std::make_unique<Following>(table_, number);
}

class JobChanges::Following final : public Subscription {
 public:
  Following(std::shared_ptr<Table> table, std::uint64_t number)
      : table_(std::move(table)), number_(number) {}

  ~Following() override {
    const std::lock_guard lock(table_->mutex);
    table_->followers.erase(number_);
  }

 private:
  std::shared_ptr<Table> table_;
  std::uint64_t number_;
};

void JobChanges::changed(JobId job) {
  const std::lock_guard lock(table_->mutex);
  for (const auto& [number, told] : table_->followers) told(job);
}

std::unique_ptr<Subscription> JobChanges::follow(std::function<void(JobId)> told) {
  const std::lock_guard lock(table_->mutex);
  const std::uint64_t number = ++table_->next;
  table_->followers.emplace(number, std::move(told));
  return std::make_unique<Following>(table_, number);
}

}  // namespace orrery::runtime
