// The contract of policies with queues in front of each, and what the queues promise beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/queues/queue_loads.hpp"
#include "core/queues/queue_text.hpp"
#include "policies/registry.hpp"
#include "tests/policies/contract.hpp"

namespace orrery {
namespace {

using testing::broken_promises;
using ::testing::IsEmpty;
using testing::PolicyMaker;

class QueuesContract : public ::testing::TestWithParam<std::string_view> {};

// As for the policy alone.
testing::ContractScope scope_of(std::string_view name) {
  const bool narrow = name == "tiresias" || name == "optimus" || name == "shockwave" ||
                      name == "sia" || name == "themis" || name == "gandiva" || name == "allox" ||
                      name.starts_with("gavel_");
  return {.several_roles = !narrow, .quotas = !narrow && name != "pollux"};
}

std::map<std::string, std::string> parameters_of(std::string_view name) {
  std::map<std::string, std::string> out;
  if (name == "pollux") out = {{"population", "12"}, {"generations", "8"}};
  if (name == "gavel_packing" || name == "gandiva") out = {{"beside", "0.7"}};
  return out;
}

std::uint64_t histories_of(std::string_view name) {
  if (name == "pollux" || name == "shockwave") return 2;
  return name == "themis" || name == "gavel_makespan" ? 2 : 4;
}

// Jobs of the histories are of group "limited", or of none.
constexpr const char* kTrees[]{
    "limited weight=2; default weight=1",
    "half_life=600s patience=300s; top; limited parent=top guarantee=25%; other parent=top; "
    "default borrow=90% guarantee=10%",
    "period=30s patience=120s; limited limit=16 reclaim=false; default priority=1",
};

TEST_P(QueuesContract, IsKeptOnRandomHistories) {
  for (const char* tree : kTrees) {
    const PolicyMaker make = [tree] {
      auto parameters = parameters_of(GetParam());
      parameters["queues"] = tree;
      return policies::make_policy(GetParam(), {.parameters = parameters}).value();
    };
    // A fixed job as large as the cluster never borrows what others are guaranteed.
    testing::ContractScope scope = scope_of(GetParam());
    scope.fixed = std::string_view(tree).find("guarantee") == std::string_view::npos;
    for (std::uint64_t seed = 1; seed <= histories_of(GetParam()); ++seed)
      EXPECT_THAT(broken_promises(make, seed, scope), IsEmpty())
          << "seed " << seed << " with " << tree;
  }
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const policies::PolicyRow& row : policies::rows())
    if (policies::is_available(row)) out.push_back(row.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Registry, QueuesContract, ::testing::ValuesIn(names()), [](const auto& row) {
  return std::string(row.param);
});

}  // namespace
}  // namespace orrery
