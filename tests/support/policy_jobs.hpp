// Terse job specifications for tests of policies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/job/spec.hpp"

namespace orrery::testing {

/// A specification in one line: `job().devices(4).replicas(1, 8).preemptible().estimate(60)`.
class JobBuilder {
 public:
  JobBuilder() {
    spec_.roles.items().resize(1);
    spec_.roles[0].name = "worker";
    devices(1);
  }

  /// Per replica.
  JobBuilder& devices(std::int32_t n) { return spec_.roles[0].bundle.devices = n, *this; }

  JobBuilder& cpu(std::int64_t cores) {
    return spec_.roles[0].bundle.cpu = MilliCpu{cores * 1000}, *this;
  }

  JobBuilder& share(std::int32_t thousandths) {
    return spec_.roles[0].bundle.share = Share{thousandths}, *this;
  }

  JobBuilder& model(std::string name) {
    return spec_.roles[0].bundle.device_model = std::move(name), *this;
  }

  JobBuilder& replicas(std::int32_t n) { return replicas(n, n); }

  JobBuilder& replicas(std::int32_t min, std::int32_t max) {
    spec_.roles[0].min_replicas = min;
    spec_.roles[0].max_replicas = max;
    return *this;
  }

  /// One more role, of a fixed number of replicas.
  JobBuilder& also(std::int32_t replicas, std::int32_t devices_each, std::int64_t cores_each = 0) {
    RoleSpec role;
    role.name = "role" + std::to_string(spec_.roles.size());
    role.min_replicas = role.max_replicas = replicas;
    role.bundle.devices = devices_each;
    role.bundle.cpu = MilliCpu{cores_each * 1000};
    return spec_.roles.push_back(role), *this;
  }

  JobBuilder& preemptible() { return spec_.preemptible = true, *this; }

  JobBuilder& priority(std::int32_t p) { return spec_.priority = p, *this; }

  JobBuilder& group(std::string name) { return spec_.group = std::move(name), *this; }

  JobBuilder& estimate(std::int64_t seconds) {
    spec_.estimate = Duration::seconds(seconds);
    spec_.estimate_source = EstimateSource::Declared;
    return *this;
  }

  std::shared_ptr<const JobSpec> spec() const { return std::make_shared<const JobSpec>(spec_); }

 private:
  JobSpec spec_;
};

inline JobBuilder job() { return {}; }

}  // namespace orrery::testing
