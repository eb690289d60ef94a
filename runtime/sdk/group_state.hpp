// The members of a group as its driver knows them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/workers/run_all.hpp"
#include "runtime/sdk/group.hpp"
#include "runtime/sdk/peers.hpp"

namespace orrery::sdk {

/// Who is called, as of one answer of the directory.
struct GroupMembers {
  std::uint64_t generation = 0;
  std::vector<Peer> peers;  ///< By role_rank.
};

struct WorkerGroup::State {
  State(Driver of, std::string name, GroupOptions how);

  /// Waits until all members of the role can be called.
  void refresh(std::optional<Sharding> sharding);

  /// The members of now, after a refresh where an error said that they are others.
  std::shared_ptr<const GroupMembers> current();

  /// Sends one call to each of `ranks`. `written` holds one element per call, shared where equal.
  detail::GroupCall send(const GroupMembers& members,
                         const std::string& method,
                         const std::vector<std::int32_t>& ranks,
                         const std::vector<std::shared_ptr<const WrittenValues>>& written,
                         const GroupCallOptions& options);

  const Driver driver;
  const std::string role;
  const GroupOptions options;
  const std::shared_ptr<std::atomic<bool>> stale = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex;
  std::shared_ptr<const GroupMembers> members;
  std::optional<workers::NamedSharding> sharding;
};

/// BadArguments with everything that is wrong.
[[noreturn]] void raise_unfit(const std::string& about, const Errors& errors);

}  // namespace orrery::sdk
