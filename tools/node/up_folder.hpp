// The folder of one `orrery up`: settings of its daemons, their sockets, logs and states.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/cluster/port_range.hpp"
#include "tools/console/arguments.hpp"

namespace orrery::cli {

/// So many agents at most.
inline constexpr std::int32_t kAgentsMax = 64;

/// What the command line asks for.
struct UpOptions {
  int agents = 1;
  int devices = -1;  ///< Pretended ones per agent; -1: what is found, with the first agent.
  std::string http;  ///< "127.0.0.1:22100", with a port that is free now.
  PortRange ports = PortRange::standard();  ///< At which workers listen, divided among the agents.
  std::string policy;                       ///< Empty: the default.
  std::string state;                        ///< Folder; empty: one that is removed in the end.
  std::vector<std::string> volume_roots;    ///< Absolute; folders that jobs may mount.
  std::vector<std::string> sets;            ///< "path=value" for the controller's settings.
  std::vector<std::string> agent_sets;      ///< The same for those of every agent.
  std::vector<std::string> files;           ///< Jobs that are submitted at once.
};

/// Errors: all that is unfit, an address that is taken among it.
Result<UpOptions> up_options(const Arguments& arguments);

/// "127.0.0.1:PORT" with a port that is free now, of an address with port 0 any. Errors: it is no
/// address of this machine, or taken.
Result<std::string> free_address(const std::string& text);

/// "FIRST-LAST". Errors: it is no range of ports, or has too few for so many agents. `verb` names
/// the command in them.
Result<PortRange> worker_ports(const std::string& verb, const std::string& text, int agents);

/// A folder that this process alone uses while the object lives. One that was made for it goes
/// with it.
class UpFolder {
 public:
  /// Makes the folder where it is missing, and writes the settings. Errors: it is in use by another
  /// process, its path is too long for sockets, it cannot be written.
  static Result<std::unique_ptr<UpFolder>> open(const UpOptions& options);

  UpFolder(const UpFolder&) = delete;
  UpFolder& operator=(const UpFolder&) = delete;
  ~UpFolder();

  const std::string& path() const { return path_; }

  bool is_temporary() const { return temporary_; }

  std::string controller_config() const { return path_ + "/controller.yaml"; }

  /// Of agent 1, 2, ...
  std::string agent_config(int agent) const;
  static std::string node_name(int agent);

  std::string log(const std::string& daemon) const { return path_ + "/" + daemon + ".log"; }

 private:
  UpFolder(std::string path, bool temporary, int lock)
      : path_(std::move(path)), temporary_(temporary), lock_(lock) {}

  std::string path_;
  bool temporary_;
  int lock_;
};

}  // namespace orrery::cli
