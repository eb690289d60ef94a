#include "sim/traces/acme.hpp"

#include "sim/traces/cluster_log.hpp"
#include "sim/traces/fields.hpp"

namespace orrery::sim {

bool looks_like_acme(std::string_view text) {
  return header_has(text, {"gpu_num", "submit_time", "type", "gpu_time"});
}

Result<Trace> parse_acme(std::string_view text,
                         std::string_view file_name,
                         const TraceOptions& options) {
  return parse_cluster_log(text, file_name, "acme", ClusterLogTimes::WithOffset, options);
}

}  // namespace orrery::sim
