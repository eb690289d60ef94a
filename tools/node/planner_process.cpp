#include "tools/node/planner_process.hpp"

#include <memory>
#include <string_view>

#include "policies/registry.hpp"
#include "sim/rehearsal/rehearsed_candidates.hpp"

namespace orrery::cli {
namespace {

constexpr std::string_view kWord = "serve-plans";

}  // namespace

// Not the path that the link stands for: after an upgrade another program is there.
std::vector<std::string> planner_program() { return {"/proc/self/exe", std::string(kWord)}; }

bool is_planner(int argc, char** argv) { return argc == 2 && kWord == argv[1]; }

Result<std::unique_ptr<Policy>> policy_of(const runtime::PolicySpec& spec) {
  policies::PolicyArguments arguments;
  for (const KeyValue& parameter : spec.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.seed = spec.seed;
  arguments.rehearsal = std::make_shared<sim::ForkedRehearsal>();
  return policies::make_policy(spec.name, arguments);
}

}  // namespace orrery::cli
