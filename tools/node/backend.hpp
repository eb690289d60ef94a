// Where a controller's journal lives, and how the leader is chosen: SQLite alone, or etcd for
// several.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "runtime/config/config.hpp"
#include "runtime/controller/controller_daemon.hpp"
#include "runtime/etcd/etcd_client.hpp"

namespace orrery::cli {

/// Makes the election and opens the journal as the configuration says. Outlives the controller.
class Backend {
 public:
  /// `url`: where other controllers send their clients while this one leads. Errors: files of TLS
  /// that cannot be read.
  static Result<std::unique_ptr<Backend>> make(const runtime::ControllerConfig& config,
                                               std::string url);

  /// Fills in what is the backend's to say.
  void install(runtime::ControllerParts& parts);

 private:
  Backend(const runtime::ControllerConfig& config, std::string url)
      : config_(config), url_(std::move(url)) {}

  Result<std::unique_ptr<StateStore>> open(const runtime::Leadership& leadership);
  std::unique_ptr<runtime::Election> election(runtime::Election::Lost lost);

  const runtime::ControllerConfig config_;
  const std::string url_;
  std::unique_ptr<runtime::EtcdClient> etcd_;   ///< Of the journal; null with SQLite,
  std::unique_ptr<runtime::EtcdClient> votes_;  ///< of the election, which waits for no writes.
};

}  // namespace orrery::cli
