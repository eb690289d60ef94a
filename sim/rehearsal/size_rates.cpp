#include "sim/rehearsal/size_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::sim {

void set_rates(scenarios::WorkSpec& work,
               const std::map<std::int32_t, double>& rates,
               const JobSpec& spec) {
  const auto& [size, rate] = *rates.begin();
  work.base_replicas = size;
  work.base_rate = rate;
  work.scaling = scenarios::ScalingKind::Linear;
  if (rates.size() == 1) return;
  work.scaling = scenarios::ScalingKind::Table;
  if (size > 1) work.table.push_back({1, 1.0 / size});
  for (const auto& [replicas, each] : rates) {
    // base_rate * throughput has to give the rate to the last bit.
    double throughput = each / rate;
    if (rate * throughput != each)
      for (const double toward : {0.0, std::numeric_limits<double>::max()}) {
        const double near = std::nextafter(throughput, toward);
        if (rate * near == each) throughput = near;
      }
    work.table.push_back({replicas, throughput});
  }
  const RoleSpec& role = spec.roles[elastic_role(spec).index()];
  const std::int32_t most = rates.rbegin()->first;
  if (role.max_replicas <= most) return;
  // Beyond what was seen it goes on as between the two largest sizes.
  const scenarios::ScalingPoint& last = work.table.back();
  const scenarios::ScalingPoint& before = work.table[work.table.size() - 2];
  const double slope = (last.throughput - before.throughput) / (last.replicas - before.replicas);
  const double more = std::max(0.0, slope) * (role.max_replicas - most);
  work.table.push_back({role.max_replicas, last.throughput + more});
}

}  // namespace orrery::sim
