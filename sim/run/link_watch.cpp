#include "sim/run/link_watch.hpp"

namespace orrery::sim {

LinkWatcher link_watcher(const scenarios::Scenario& scenario,
                         const Fabric* fabric,
                         const RunOptions& options,
                         std::vector<std::string>& warnings) {
  std::vector<RunListener*> wanting;
  for (RunListener* listener : options.listeners)
    if (listener->wants_links()) wanting.push_back(listener);
  if (wanting.empty() || fabric == nullptr || scenario.fidelity == scenarios::Fidelity::L0)
    return {};
  const std::vector<std::string> names = fabric->link_names();
  if (names.size() > kLinksWatchedMax) {
    warnings.push_back("the use of the network's " + std::to_string(names.size()) +
                       " links was not recorded: more than " + std::to_string(kLinksWatchedMax));
    return {};
  }
  for (RunListener* listener : wanting) listener->on_links(names);
  return [wanting](Instant at, std::span<const double> shares) {
    for (RunListener* listener : wanting) listener->on_link_use(at, shares);
  };
}

}  // namespace orrery::sim
