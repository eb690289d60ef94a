#include "sim/traces/helios.hpp"

#include "sim/traces/cluster_log.hpp"
#include "sim/traces/fields.hpp"

namespace orrery::sim {

bool looks_like_helios(std::string_view text) {
  return header_has(text, {"gpu_num", "submit_time", "vc"});
}

Result<Trace> parse_helios(std::string_view text,
                           std::string_view file_name,
                           const TraceOptions& options) {
  return parse_cluster_log(text, file_name, "helios", ClusterLogTimes::ChinaWallClock, options);
}

}  // namespace orrery::sim
