// What every policy promises, checked on random histories.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/plan/policy.hpp"
#include "tests/support/fake_run.hpp"

namespace orrery::testing {

using PolicyMaker = std::function<std::unique_ptr<Policy>()>;

/// What the jobs of a history may be like.
struct ContractScope {
  bool several_roles = true;
  bool quotas = true;
  bool fixed = true;
};

/// A small cluster with jobs of every kind: fixed and elastic, preemptible or not, of two
/// priorities, with and without estimates and quotas, of one or two roles.
FakeRun random_run(std::uint64_t seed, ContractScope scope);

/// Runs the policy through the history of this seed and says which promises it broke, in words
/// that begin with "bounds", "capacity", "fixed", "quota", "determinism", "save and load",
/// "starvation" or "stability". Empty for a good policy.
std::vector<std::string> broken_promises(const PolicyMaker& make,
                                         std::uint64_t seed,
                                         ContractScope scope = {});

}  // namespace orrery::testing
