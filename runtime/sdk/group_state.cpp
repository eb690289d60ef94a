#include "runtime/sdk/group_state.hpp"

#include <algorithm>
#include <condition_variable>

namespace orrery::sdk {
namespace {

constexpr Milliseconds kAskAgain{50};
constexpr Milliseconds kDirectoryLimit{10'000};

void pause_for(Milliseconds time) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, time, [] { return false; });
}

std::optional<workers::NamedSharding> sharding_of(const std::optional<Sharding>& asked) {
  if (!asked) return std::nullopt;
  Result<workers::NamedSharding> made =
      asked->ranks.empty() ? workers::NamedSharding::grid(asked->names, asked->shape)
                           : workers::NamedSharding::make(asked->names, asked->shape, asked->ranks);
  if (!made) raise_unfit("sharding", made.errors());
  return std::move(*made);
}

/// The members once they are complete; nothing while some are still to come.
std::shared_ptr<const GroupMembers> complete_members(const PeerList& list,
                                                     const std::string& role) {
  std::vector<Peer> peers = list.of_role(role);
  if (peers.empty() && !list.may_grow())
    raise(detail::error_fields("NoSuchWorker",
                               "job " + list.job + ": found no workers of role " + role +
                                   ", needed at least one; name a role that the job has"));
  if (peers.empty() || list.may_grow()) return nullptr;
  for (std::size_t rank = 0; rank < peers.size(); ++rank)
    if (!peers[rank].listens() || peers[rank].role_rank != static_cast<std::int64_t>(rank))
      return nullptr;
  auto out = std::make_shared<GroupMembers>();
  out->generation = list.generation;
  out->peers = std::move(peers);
  return out;
}

}  // namespace

void raise_unfit(const std::string& about, const Errors& errors) {
  std::string out = about;
  for (const Error& error : errors)
    out.append(&error == &errors.front() ? ": " : "\n").append(error.text());
  throw BadArguments(std::move(out));
}

WorkerGroup::State::State(Driver of, std::string name, GroupOptions how)
    : driver(std::move(of)), role(std::move(name)), options(std::move(how)) {
  refresh(options.sharding);
}

void WorkerGroup::State::refresh(std::optional<Sharding> asked) {
  std::optional<workers::NamedSharding> made = sharding_of(asked);
  const SteadyTime until = from_now(options.form_deadline);
  stale->store(false);
  while (true) {
    const auto left = std::chrono::ceil<Milliseconds>(until - std::chrono::steady_clock::now());
    if (left <= Milliseconds(0))
      raise(detail::error_fields("Timeout",
                                 "role " + role + ": found not all of its workers within " +
                                     std::to_string(options.form_deadline.count()) +
                                     " ms; see the job's phase, or wait longer"));
    const std::shared_ptr<const PeerList> list =
        driver.peers()->refresh(std::min(left, kDirectoryLimit));
    if (std::shared_ptr<const GroupMembers> complete = complete_members(*list, role)) {
      const auto size = static_cast<std::int32_t>(complete->peers.size());
      if (const Status fits = workers::check_sharding({size, made ? &*made : nullptr}); !fits)
        raise_unfit("sharding", fits.errors());
      const std::scoped_lock lock(mutex);
      members = std::move(complete);
      if (made) sharding = std::move(made);
      return;
    }
    pause_for(std::min(left, kAskAgain));
  }
}

std::shared_ptr<const GroupMembers> WorkerGroup::State::current() {
  if (stale->load()) refresh(std::nullopt);
  const std::scoped_lock lock(mutex);
  return members;
}

detail::GroupCall WorkerGroup::State::send(
    const GroupMembers& to,
    const std::string& method,
    const std::vector<std::int32_t>& ranks,
    const std::vector<std::shared_ptr<const WrittenValues>>& written,
    const GroupCallOptions& asked) {
  detail::GroupCall out;
  out.method = method;
  out.stream = asked.stream;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Peer& peer = to.peers[static_cast<std::size_t>(ranks[i])];
    detail::CallRequest request;
    request.target = {peer.worker, peer.role, peer.role_rank, peer.rank};
    request.method = method;
    request.values = written[i];
    request.options = options.call;
    if (asked.deadline) request.options.deadline = *asked.deadline;
    request.options.generation = to.generation;
    request.stream = asked.stream;
    if (options.claim) request.claim = role;
    request.stale = stale;
    out.calls.push_back(detail::begin_call(driver.peers(), std::move(request)));
    out.ranks.push_back(ranks[i]);
    out.returns.push_back(i);
  }
  return out;
}

}  // namespace orrery::sdk
