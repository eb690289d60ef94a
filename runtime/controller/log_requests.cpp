#include "runtime/controller/log_requests.hpp"

#include <utility>
#include <vector>

namespace orrery::runtime {

class LogRequests::Reading final : public Subscription {
 public:
  Reading(std::shared_ptr<Table> table, std::uint64_t number)
      : table_(std::move(table)), number_(number) {}

  ~Reading() override {
    std::function<void(std::uint64_t, NodeId)> cancel;
    NodeId node;
    {
      const std::lock_guard lock(table_->mutex);
      const auto found = table_->readers.find(number_);
      if (found == table_->readers.end()) return;
      node = found->second.node;
      table_->readers.erase(found);
      cancel = table_->cancel;
    }
    if (cancel) cancel(number_, node);
  }

 private:
  std::shared_ptr<Table> table_;
  std::uint64_t number_;
};

LogRequests::LogRequests(std::function<void(std::uint64_t, NodeId)> cancel)
    : table_(std::make_shared<Table>()) {
  table_->cancel = std::move(cancel);
}

LogRequests::~LogRequests() {
  const std::lock_guard lock(table_->mutex);
  table_->cancel = nullptr;
  for (auto& [number, reader] : table_->readers)
    reader.told({}, true, "the controller that passed the log on has ended; ask again");
  table_->readers.clear();
}

std::unique_ptr<Subscription> LogRequests::open(NodeId node, Told told, std::uint64_t& request) {
  const std::lock_guard lock(table_->mutex);
  request = ++table_->next;
  table_->readers.emplace(request, Reader{node, std::move(told)});
  return std::make_unique<Reading>(table_, request);
}

void LogRequests::chunk(NodeId node, const LogChunk& chunk) {
  const std::lock_guard lock(table_->mutex);
  const auto found = table_->readers.find(chunk.request);
  if (found == table_->readers.end() || found->second.node != node) return;
  found->second.told(chunk.data, chunk.last, chunk.error);
  if (chunk.last) table_->readers.erase(found);
}

void LogRequests::lost(NodeId node) {
  const std::lock_guard lock(table_->mutex);
  for (auto it = table_->readers.begin(); it != table_->readers.end();) {
    if (it->second.node != node) {
      ++it;
      continue;
    }
    it->second.told({}, true, "the node's agent is out of reach; ask again when it is back");
    it = table_->readers.erase(it);
  }
}

}  // namespace orrery::runtime
