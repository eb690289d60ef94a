// What the ranks of a run write, printed as it comes: a thread for each rank's log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/client/client.hpp"
#include "tools/client/run_request.hpp"
#include "tools/console/console.hpp"

namespace orrery::cli {

/// How it is shown.
struct RunView {
  RankFilter filter;
  std::int32_t per_node = 1;
  bool as_json = false;

  bool shows(std::uint64_t rank) const;
};

/// `console` outlives the process's last thread: it is the program's own.
class RunOutput {
 public:
  RunOutput(ClientOptions options, Console& console, std::string job, RunView view);
  RunOutput(const RunOutput&) = delete;
  RunOutput& operator=(const RunOutput&) = delete;

  /// Lets go of logs that are still read.
  ~RunOutput();

  /// Begins with the logs of workers that have begun since, of the job's document.
  void take(const nlohmann::json& job);

  /// Tries the logs of ranks below `world` that nothing was read of: those of a job that is over.
  void take_missed(std::int32_t world);

  /// Whether every log that was begun has come to its end.
  bool is_complete() const;

 private:
  struct Shared;
  struct Reader;

  void read(std::uint64_t rank);

  ClientOptions options_;
  std::string job_;
  RunView view_;
  std::shared_ptr<Shared> shared_;
  std::map<std::uint64_t, std::shared_ptr<Reader>> readers_;  ///< By rank.
  bool told_too_many_ = false;
};

}  // namespace orrery::cli
