#include "runtime/devices/peers/peer_check.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/workers/ring_collective.hpp"

namespace orrery::runtime {
namespace {

using Clock = std::chrono::steady_clock;

Error failed(std::string message) {
  return {ErrorCode::Unavailable, {}, 0, "all-reduce", std::move(message)};
}

worker::Milliseconds milliseconds(Duration duration) {
  return worker::Milliseconds(std::clamp<std::int64_t>(duration.ns / 1'000'000, 1, 86'400'000));
}

Result<worker::Group> group_of(const CheckRequest& request) {
  const auto ranks = static_cast<std::int32_t>(request.peers.size());
  if (request.rank < 0 || request.rank >= ranks)
    return Error{ErrorCode::InvalidInput, {}, 0, "all-reduce", "the request's rank is no peer's"};
  const std::string& first = request.peers.front();
  const std::string host =
      first.find(':') != std::string::npos && first.front() != '[' ? "[" + first + "]" : first;
  auto place = worker::endpoint_of(host + ":" + std::to_string(request.port));
  if (!place)
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "all-reduce",
                 "the address of rank 0 is '" + first +
                     "', a numeric one is needed; write it as `address` in the agents' settings"};
  worker::Group group;
  group.meeting.job = "node-check";
  for (const std::string& peer : request.peers) group.meeting.job += " " + peer;
  group.meeting.generation = request.request;
  group.meeting.place = std::move(place).value();
  group.rank = request.rank;
  group.world_size = ranks;
  return group;
}

/// Rank r brings r + 1: floats hold the sum of all exactly.
worker::Outcome sum_once(worker::Collective& ring,
                         const worker::Group& group,
                         std::vector<float>& floats) {
  std::fill(floats.begin(), floats.end(), static_cast<float>(group.rank + 1));
  worker::Outcome summed = ring.all_reduce(floats);
  if (!summed.ok()) return summed;
  const auto sum = static_cast<float>(group.world_size * (group.world_size + 1) / 2);
  if (std::any_of(floats.begin(), floats.end(), [&](float each) { return each != sum; }))
    return worker::Outcome::fatal("a sum is wrong; take the node out of use");
  return summed;
}

}  // namespace

Result<Duration> all_reduce_with_peers(const CheckRequest& request, const AllReduceWork& work) {
  const auto group = group_of(request);
  if (!group) return group.errors();
  worker::CollectiveTimes times;
  times.build = milliseconds(request.deadline);
  times.operation = milliseconds(request.deadline);
  worker::RingCollective ring(times);
  if (const worker::Outcome built = ring.rebuild(*group); !built.ok()) return failed(built.reason);
  std::vector<float> floats(work.floats);
  const Clock::time_point begin = Clock::now();
  for (std::int32_t i = 0; i < std::max(1, work.times); ++i)
    if (const worker::Outcome summed = sum_once(ring, *group, floats); !summed.ok())
      return failed(summed.reason);
  const Duration took{
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count()};
  // Others may be through and gone before this one is; the sums are what counts.
  (void)ring.barrier();
  ring.leave();
  return took;
}

CheckResult check_node_with_peers(const CheckRequest& request, NodeCheckParts parts) {
  if (!parts.all_reduce)
    parts.all_reduce = [](const CheckRequest& each) { return all_reduce_with_peers(each); };
  return run_node_check(request, parts);
}

}  // namespace orrery::runtime
