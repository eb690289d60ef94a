#include "runtime/controller/log_requests.hpp"

#include <algorithm>
#include <utility>

#include "core/leader/own_reports.hpp"

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
    reader.told({.last = true,
                 .error = "the controller that passed the log on has ended; ask again",
                 .passing = true});
  table_->readers.clear();
}

std::unique_ptr<Subscription> LogRequests::open(NodeId node, LogRequest& request, Told told) {
  const std::lock_guard lock(table_->mutex);
  request.request = ++table_->next;
  table_->readers.emplace(request.request, Reader{node, request.incarnation, std::move(told)});
  return std::make_unique<Reading>(table_, request.request);
}

void LogRequests::chunk(NodeId node, const LogChunk& chunk) {
  const std::lock_guard lock(table_->mutex);
  const auto found = table_->readers.find(chunk.request);
  if (found == table_->readers.end() || !is_own(node, found->second.node)) return;
  found->second.told({.data = chunk.data,
                      .last = chunk.last,
                      .error = chunk.error,
                      .passing = chunk.passing,
                      .begin = {found->second.incarnation, chunk.begin}});
  if (chunk.last) table_->readers.erase(found);
}

void LogRequests::lost(NodeId node) {
  const std::lock_guard lock(table_->mutex);
  for (auto it = table_->readers.begin(); it != table_->readers.end();) {
    if (it->second.node != node) {
      ++it;
      continue;
    }
    it->second.told({.last = true,
                     .error = "the node's agent is out of reach; ask again when it is back",
                     .passing = true});
    it = table_->readers.erase(it);
  }
}

std::string find_log(const JobState& job, const LogQuery& query, LogRequest& out, NodeId& node) {
  const Worker* worker = nullptr;
  for (std::size_t rank = 0; rank < job.workers.size(); ++rank) {
    const Worker& each = job.workers[rank];
    const bool is_it = query.role.is_none()
                           ? static_cast<std::int32_t>(rank) == query.rank
                           : each.role == query.role && each.local_rank == query.rank;
    if (is_it) worker = &each;
  }
  out.job = query.job;
  out.tail_bytes = query.tail_bytes;
  out.follow = query.follow && !query.previous;
  if (worker != nullptr) {
    out.incarnation = worker->incarnation;
    out.birth_rank = worker->birth_rank;
    out.role = worker->role;
    out.local_rank = worker->local_rank;
    node = worker->node;
    if (worker->incarnation == query.since.incarnation && !query.previous)
      out.since = std::max<std::int64_t>(query.since.bytes, 0);
  }
  if (!query.previous)
    return worker != nullptr ? "" : job.spec->name + ": no such worker; see orrery describe";
  // A failure is remembered with its place, also where the replica starts on another node now.
  for (auto failure = job.failures->rbegin(); failure != job.failures->rend(); ++failure) {
    const bool is_it = worker != nullptr ? failure->role == worker->role &&
                                               failure->local_rank == worker->local_rank &&
                                               failure->incarnation < worker->incarnation
                       : query.role.is_none()
                           ? static_cast<std::int32_t>(failure->rank.value) == query.rank
                           : failure->role == query.role && failure->local_rank == query.rank;
    if (!is_it) continue;
    out.incarnation = failure->incarnation;
    out.birth_rank = failure->birth_rank;
    node = failure->node;
    return "";
  }
  if (worker == nullptr) return job.spec->name + ": no worker of this rank has failed";
  out.previous = true;
  return "";
}

std::string last_lines(std::string_view text, int lines, std::size_t bytes) {
  if (text.size() > bytes) {
    text.remove_prefix(text.size() - bytes);
    if (const std::size_t line = text.find('\n'); line + 1 < text.size())
      text.remove_prefix(line + 1);
  }
  std::size_t begin = text.size();
  if (begin > 0 && text[begin - 1] == '\n') --begin;
  for (; begin > 0; --begin)
    if (text[begin - 1] == '\n' && --lines == 0) break;
  return std::string(text.substr(begin));
}

}  // namespace orrery::runtime
