#include "tools/client/run_output.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "tools/client/json_reading.hpp"
#include "tools/client/log_following.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kReadersMax = 256;  // A thread and a connection each.

bool holds(const std::vector<std::uint64_t>& ranks, std::uint64_t rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

}  // namespace

/// What the threads share; the last of them frees it.
struct RunOutput::Shared {
  Shared(Console& to, bool json_lines) : console(to), as_json(json_lines) {}

  void print(std::uint64_t rank, std::string_view line) {
    const std::string text = as_json ? json{{"rank", rank}, {"line", line}}.dump(
                                           -1, ' ', false, json::error_handler_t::replace) +
                                           "\n"
                                     : "[" + std::to_string(rank) + "] " + std::string(line) + "\n";
    const std::lock_guard lock(mutex);
    if (!over) console.out(text);
  }

  Console& console;
  const bool as_json;
  std::mutex mutex;
  std::atomic<bool> over = false;
};

/// One rank's log.
struct RunOutput::Reader {
  std::atomic<bool> done = false;
  std::int64_t incarnation = 0;  ///< Of the start that was read last, once it is done.
  bool has_read = false;         ///< Something, once it is done.
};

bool RunView::shows(std::uint64_t rank) const {
  if (!filter.ranks.empty()) return holds(filter.ranks, rank);
  if (filter.local_ranks.empty()) return true;
  return holds(filter.local_ranks, rank % static_cast<std::uint64_t>(std::max(per_node, 1)));
}

RunOutput::RunOutput(ClientOptions options, Console& console, std::string job, RunView view)
    : options_(std::move(options)),
      job_(std::move(job)),
      view_(std::move(view)),
      shared_(std::make_shared<Shared>(console, view_.as_json)) {}

RunOutput::~RunOutput() {
  const std::lock_guard lock(shared_->mutex);
  shared_->over = true;
}

void RunOutput::read(std::uint64_t rank) {
  if (!view_.shows(rank)) return;
  if (readers_.size() >= kReadersMax && !readers_.contains(rank)) {
    if (!std::exchange(told_too_many_, true))
      shared_->console.err("the output of 256 ranks is shown, that of rank " +
                           std::to_string(rank) +
                           " and others is not; --ranks chooses, orrery logs prints it\n");
    return;
  }
  const auto reader = std::make_shared<Reader>();
  readers_[rank] = reader;
  LogHooks hooks{
      .line = [shared = shared_, rank](const LogSource&,
                                       std::string_view line) { shared->print(rank, line); },
      .tells = false,
      .over = &shared_->over};
  std::thread([reader,
               shared = shared_,
               options = options_,
               wish = LogWish{.job = job_, .follow = true},
               source = LogSource{.rank = rank},
               hooks = std::move(hooks)]() mutable {
    LogFollower follower(
        options, shared->console, std::move(wish), std::move(source), std::move(hooks));
    follower.run();
    reader->incarnation = follower.incarnation();
    reader->has_read = follower.has_begun();
    reader->done = true;
  }).detach();
}

void RunOutput::take(const json& job) {
  for (const json& member : list_of(job, "members")) {
    if (!worker_has_begun(member)) continue;
    const auto rank =
        static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(member, "rank"), 0));
    const auto known = readers_.find(rank);
    // One that read a log of a worker that ended well does not wait for another start.
    if (known != readers_.end() &&
        (!known->second->done || (known->second->has_read &&
                                  known->second->incarnation >= number_of(member, "incarnation"))))
      continue;
    read(rank);
  }
}

void RunOutput::take_missed(std::int32_t world) {
  for (std::uint64_t rank = 0; rank < static_cast<std::uint64_t>(std::max(world, 0)); ++rank)
    if (!readers_.contains(rank)) read(rank);
}

bool RunOutput::is_complete() const {
  return std::ranges::all_of(readers_, [](const auto& each) { return each.second->done.load(); });
}

}  // namespace orrery::cli
