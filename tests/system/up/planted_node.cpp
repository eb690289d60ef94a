// orrery-node with a policy that misbehaves as the file named by ORRERY_PLANTED says. Its tests are
// the only ones that know of it.
#include <cstdlib>

#include "tests/support/planted_policy.hpp"
#include "tools/node/node_program.hpp"
#include "tools/node/planner_process.hpp"

int main(int argc, char** argv) {
  using namespace orrery;
  return cli::run_node_program(
      argc, argv, [](const runtime::PolicySpec& spec) -> Result<std::unique_ptr<Policy>> {
        auto inner = cli::policy_of(spec);
        if (!inner) return inner.errors();
        const char* file = std::getenv("ORRERY_PLANTED");
        return std::unique_ptr<Policy>(
            std::make_unique<tests::PlantedPolicy>(std::move(*inner), file == nullptr ? "" : file));
      });
}
