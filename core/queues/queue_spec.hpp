// Queues that share a cluster, as their user writes them down: plain data and what is wrong with
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"

namespace orrery {

/// So many devices, or such a part of all that the cluster has.
struct QueueAmount {
  std::int64_t thousandths = 0;  ///< Of a device, or of the cluster; at least 0.
  bool of_cluster = false;

  /// In thousandths of a device, of a cluster that has `total` of these; at least 0.
  std::int64_t of(std::int64_t total) const;

  /// As users write it: "16", "0.5" or "25%".
  std::string text() const;

  friend bool operator==(const QueueAmount&, const QueueAmount&) = default;
};

/// "16", "0.5" or "12.5%"; nothing where the text says no such amount, or more than a million
/// devices or 100 %.
std::optional<QueueAmount> queue_amount(std::string_view text);

/// How much one user may hold in a queue.
struct QueueUser {
  std::string name;  ///< The namespace of the user's jobs.
  QueueAmount limit;

  friend bool operator==(const QueueUser&, const QueueUser&) = default;
};

/// One queue. Jobs stand in queues without others below them.
struct QueueSpec {
  std::string name;           ///< DNS label, unique in the tree.
  std::string parent;         ///< Empty: at the top.
  std::int64_t weight = 1;    ///< Of what is dealt beyond guarantees; 0 to 1,000,000.
  std::int32_t priority = 0;  ///< Class: what is dealt goes to the highest first, among siblings.
  QueueAmount guarantee;      ///< Its own as soon as it asks for it.
  std::optional<QueueAmount> limit;   ///< Never more than that.
  std::optional<QueueAmount> borrow;  ///< Never more than this beyond the guarantee.
  bool reclaim = true;                ///< Whether others are preempted for what it is entitled to.
  std::optional<QueueAmount> user_limit;  ///< Each user never more than that, in it and below it.
  std::vector<QueueUser> users;           ///< Those with another limit.

  friend bool operator==(const QueueSpec&, const QueueSpec&) = default;
};

/// The whole tree, and how it is shared.
struct QueuesSpec {
  Duration period = Duration::seconds(60);      ///< How often what others borrowed is taken back.
  Duration half_life = Duration::zero();        ///< Of past use that counts; zero: none does.
  Duration patience = Duration::seconds(1800);  ///< Denied so long, a queue has a turn.
  bool cpu = false;                             ///< Whether shares of cores count beside devices.
  bool memory = false;                          ///< Whether shares of memory do.
  bool sizes_jobs = false;  ///< Whether the policy behind gives elastic jobs more than their
                            ///< least, so that they ask for it; known to the policy, not written.
  std::string otherwise;    ///< Queue of jobs that name none; empty: "default".
  std::vector<QueueSpec> queues;

  friend bool operator==(const QueuesSpec&, const QueuesSpec&) = default;
};

/// The name of the queue that jobs without one go to, which need not be written down.
inline constexpr std::string_view kDefaultQueue = "default";

/// Most queues of one tree.
inline constexpr std::size_t kQueuesMax = 1000;

/// One thing wrong with a tree.
struct QueueFault {
  std::size_t queue = SIZE_MAX;  ///< Index in `QueuesSpec::queues`; SIZE_MAX: of the whole.
  std::string key;               ///< "parent", "guarantee", ...
  std::string message;           ///< What was found and needed; how to mend it.
};

/// Everything wrong with the tree. `devices`: what the cluster has, where that is known; guarantees
/// in devices are held against it.
std::vector<QueueFault> check_queues(const QueuesSpec& spec, std::optional<std::int64_t> devices);

}  // namespace orrery
