// Short ways to write job specifications and events for the controller.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/record/event.hpp"

namespace orrery::tests {

/// A sound specification that is changed call by call; `default.NAME`, one role `worker` with one
/// replica of one device unless told otherwise.
class JobBuilder {
 public:
  explicit JobBuilder(const std::string& name) {
    spec_.name = "default." + name;
    spec_.roles.push_back(role_of("worker", 1, 1, 1));
  }

  JobBuilder& replicas(std::int32_t count) { return replicas(count, count); }

  JobBuilder& replicas(std::int32_t min, std::int32_t max) {
    spec_.roles[0].min_replicas = min;
    spec_.roles[0].max_replicas = max;
    return *this;
  }

  JobBuilder& devices(std::int32_t each) {
    spec_.roles[0].bundle.devices = each;
    return *this;
  }

  JobBuilder& share(std::int32_t thousandths) {
    spec_.roles[0].bundle.share = Share{thousandths};
    return *this;
  }

  JobBuilder& cpu(std::int64_t millis) {
    spec_.roles[0].bundle.cpu = MilliCpu{millis};
    return *this;
  }

  /// Adds a role that counts towards success.
  JobBuilder& role(const std::string& name, std::int32_t count, std::int32_t devices = 1) {
    spec_.roles.push_back(role_of(name, count, count, devices));
    return *this;
  }

  /// Adds a role that is drained when the others have succeeded.
  JobBuilder& follower(const std::string& name, std::int32_t count, std::int32_t devices = 1) {
    role(name, count, devices);
    spec_.roles.back().completion = Completion::Follower;
    return *this;
  }

  JobBuilder& elastic(std::int32_t min, std::int32_t max) {
    spec_.preemptible = true;
    return replicas(min, max);
  }

  JobBuilder& preemptible() {
    spec_.preemptible = true;
    return *this;
  }

  JobBuilder& family(JobFamily family) {
    spec_.family = family;
    if (family == JobFamily::Group) spec_.backoff_limit = 0;
    return *this;
  }

  JobBuilder& limit(std::int32_t restarts) {
    spec_.backoff_limit = restarts;
    return *this;
  }

  JobBuilder& recovery(RecoveryScope scope) {
    spec_.recovery = scope;
    return *this;
  }

  JobBuilder& rescale(RescaleMode mode) {
    spec_.rescale = mode;
    return *this;
  }

  JobBuilder& clean(CleanPodPolicy policy) {
    spec_.clean_pods = policy;
    return *this;
  }

  JobBuilder& priority(std::int32_t priority) {
    spec_.priority = priority;
    return *this;
  }

  JobBuilder& group(const std::string& name) {
    spec_.group = name;
    return *this;
  }

  JobBuilder& no_unknown() {
    spec_.unknown_deadline = Duration::zero();
    return *this;
  }

  JobSpec& raw() { return spec_; }

  JobSpec spec() const { return spec_; }

 private:
  static RoleSpec role_of(const std::string& name,
                          std::int32_t min,
                          std::int32_t max,
                          std::int32_t devices) {
    RoleSpec role;
    role.name = name;
    role.min_replicas = min;
    role.max_replicas = max;
    role.bundle.cpu = MilliCpu{1000};
    role.bundle.memory = Bytes{1};
    role.bundle.devices = devices;
    return role;
  }

  JobSpec spec_;
};

inline JobBuilder job(const std::string& name) { return JobBuilder(name); }

inline NodeGroup nodes_of(std::int32_t count, std::int32_t devices) {
  return {"group", count, MilliCpu{64000}, Bytes{1 << 20}, devices, devices > 0 ? "h200" : "", 0};
}

inline NodeCount on(std::uint32_t node, std::int32_t replicas) { return {NodeId{node}, replicas}; }

/// A plan of one grant; with nodes, exactly there.
inline Plan grant(JobId id, std::int32_t replicas, const std::vector<NodeCount>& nodes = {}) {
  Plan plan;
  plan.grants.push_back(
      {id, RoleIndex::none(), replicas, 0, static_cast<std::uint32_t>(nodes.size())});
  plan.nodes = nodes;
  return plan;
}

/// Both plans as one, in this order.
inline Plan operator+(Plan first, const Plan& second) {
  for (Grant grant : second.grants) {
    grant.first_node += static_cast<std::uint32_t>(first.nodes.size());
    first.grants.push_back(grant);
  }
  first.nodes.insert(first.nodes.end(), second.nodes.begin(), second.nodes.end());
  return first;
}

}  // namespace orrery::tests
