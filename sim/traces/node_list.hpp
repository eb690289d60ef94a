// Readers of lists of machines: Alibaba's openb nodes and PAI's machines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/base/result.hpp"

namespace orrery::sim {

/// One machine of a list.
struct ListedNode {
  std::string name;
  std::int64_t cpu_milli = 0;   ///< Thousandths of cores.
  std::int64_t memory_mib = 0;  ///< Bytes / 2^20.
  int gpus = 0;                 ///< 0 to 1024, all of one model.
  std::string model;            ///< Empty without GPUs.
};

/// All machines of a list, in its order, each name once.
struct NodeList {
  std::string file;
  std::string format;  ///< "openb-nodes" or "pai-machines".
  std::vector<ListedNode> nodes;

  /// Nodes and GPUs of one model.
  struct Share {
    std::int64_t nodes = 0;
    std::int64_t gpus = 0;
  };

  Share total() const;
  std::map<std::string, Share> by_model() const;
  std::map<int, std::int64_t> nodes_by_gpus() const;

  /// A table for people.
  std::string text() const;

  /// One object with the same content.
  void write(JsonText& json) const;
};

/// The `cluster` section of a scenario with these nodes: equal ones are a group, those with most
/// devices first, then by model, cores and memory.
std::string cluster_yaml(const NodeList& list);

/// Whether `text` begins with the columns of openb's node list.
bool looks_like_openb_nodes(std::string_view text);

/// Reads a CSV file whose first line names the columns sn, cpu_milli, memory_mib, gpu and model.
Result<NodeList> parse_openb_nodes(std::string_view text, std::string_view file_name);

/// Whether `text` begins like PAI's machine list: five fields, the second a known model.
bool looks_like_pai_machines(std::string_view text);

/// Reads a CSV file without names of columns: machine, gpu_type (CPU: none), cores, memory in GB
/// (2^30 bytes), GPUs.
Result<NodeList> parse_pai_machines(std::string_view text, std::string_view file_name);

}  // namespace orrery::sim
