// The process of a policy that misbehaves as the file in its parameter `file` says.
#include "policies/registry.hpp"
#include "tests/support/planted_policy.hpp"

int main() {
  using namespace orrery;
  return runtime::serve_plans(
      runtime::kPlannerFd, [](const runtime::PolicySpec& spec) -> Result<std::unique_ptr<Policy>> {
        auto inner = policies::make_policy(spec.name);
        if (!inner) return inner.errors();
        const std::string file = spec.parameters.empty() ? "" : spec.parameters[0].value;
        return std::unique_ptr<Policy>(
            std::make_unique<tests::PlantedPolicy>(std::move(*inner), file));
      });
}
