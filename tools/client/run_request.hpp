// What `orrery run` is asked for: its command line, which is torchrun's, taken apart.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/job/spec.hpp"
#include "tools/console/arguments.hpp"

namespace orrery::cli {

/// How many processes a node shall have: a number, or what the nodes have of something.
enum class PerNode : std::uint8_t { Number, Devices, Cores, DevicesElseCores };

/// Which ranks a reader wants to see.
struct RankFilter {
  std::vector<std::uint64_t> ranks;        ///< In the job; with `local_ranks` empty: all.
  std::vector<std::uint64_t> local_ranks;  ///< On each node of `per_node` ranks.
};

struct RunRequest {
  std::int32_t nodes_min = 1;
  std::int32_t nodes_max = 1;
  PerNode per_node_is = PerNode::Number;
  std::int32_t per_node = 1;            ///< Of PerNode::Number.
  std::optional<std::int32_t> devices;  ///< Of each process; nothing: by what the nodes have.
  std::string cpus;                     ///< Of each process, as job files have it; may be empty.
  std::string memory;                   ///< The same.
  std::int32_t max_restarts = 0;
  std::string name;  ///< Of the job; with `name_is_free` a number is added where it is taken.
  bool name_is_free = true;
  std::string role = "default";
  std::string priority;
  std::string group;
  std::vector<std::string> command;
  std::string check_program;  ///< Runs before the command, with `-cuda` for devices; empty: none.
  std::string folder;         ///< Where the command starts; absolute.
  std::vector<KeyValue> environment;
  std::string threads;  ///< OMP_NUM_THREADS where several processes share a node.
  std::vector<std::string> sets;
  RankFilter filter;
  std::vector<std::string> notes;  ///< What became of options that mean nothing here.

  bool is_elastic() const { return nodes_min < nodes_max; }
};

/// What is known of the process that asks.
struct Caller {
  std::string folder;
  std::string check_program;  ///< `orrery-check` beside this program; empty: not there.
  /// The value of a variable, or nothing.
  std::function<std::optional<std::string>(const std::string& name)> variable;

  static Caller of_this_process();
};

/// Errors: all that is unfit, at once.
Result<RunRequest> run_request(const Arguments& arguments, const Caller& caller);

}  // namespace orrery::cli
