#include "sim/traces/helios.hpp"

#include "sim/traces/cluster_log.hpp"
#include "sim/traces/fields.hpp"

namespace orrery::sim {

bool looks_like_helios(std::string_view text) {
  const std::string_view header = take_line(text);
  const auto has = [&](std::string_view column) {
    return header.find(column) != std::string_view::npos;
  };
  return has("gpu_num") && has("submit_time") && has("vc");
}

Result<Trace> parse_helios(std::string_view text,
                           std::string_view file_name,
                           const TraceOptions& options) {
  return parse_cluster_log(text, file_name, "helios", ClusterLogTimes::ChinaWallClock, options);
}

}  // namespace orrery::sim
