// A controller and agents of this machine, as children of this process.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "tools/client/client.hpp"
#include "tools/console/console.hpp"
#include "tools/console/verb.hpp"
#include "tools/node/supervisor.hpp"
#include "tools/node/up_folder.hpp"

namespace orrery::cli {

/// From `start` on SIGINT and SIGTERM are held back for `supervisor().turn`. `console` outlives it.
class LocalCluster {
 public:
  LocalCluster(UpOptions options, Console& console)
      : options_(std::move(options)), console_(console) {}

  /// Starts all, and waits until every agent has joined. What went wrong is told: 2 bad settings, 5
  /// not ready in time, 130 interrupted. `end` is needed in any case.
  ExitCode start();

  /// Ends what was started. True where no process is left.
  bool end();

  /// The same at once, without grace.
  bool kill();

  const UpOptions& options() const { return options_; }

  const UpFolder& folder() const { return *folder_; }

  /// After a start that was asked for.
  Supervisor& supervisor() { return *supervisor_; }

  bool has_started() const { return supervisor_ != nullptr; }

  std::string url() const { return "http://" + options_.http; }

  ClientOptions client_options(std::chrono::milliseconds timeout) const;

 private:
  ExitCode become_ready();

  UpOptions options_;
  Console& console_;
  std::unique_ptr<UpFolder> folder_;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace orrery::cli
