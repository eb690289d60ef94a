// What the tasks of an application model come to on so many nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/language/spec/step_spec.hpp"
#include "sim/import/elastisim_file.hpp"

namespace orrery::sim {

/// Most stages of one program, repetitions written out.
inline constexpr std::size_t kElastisimStagesMax = 20'000;

/// Most transfers of one program, repetitions written out.
inline constexpr std::size_t kElastisimTransfersMax = 1'000'000;

/// How fast the parts of a node are.
struct ElastisimNode {
  double host_flops = 0;        ///< Per second; 0: as the platform file says, if there is one.
  double gpu_flops = 0;         ///< Of one GPU, per second; 0: not known.
  double burst_buffer = 0;      ///< Bytes per second each way; 0: it takes no time.
  double device_bandwidth = 1;  ///< Between the GPUs of a node, bytes per second, above 0.
  bool has_platform = false;    ///< A platform file tells the speed of nodes.
};

/// Turns phases into stages for one number of nodes. The first thing that is wrong ends the work.
class ElastisimStages {
 public:
  using Stages = std::vector<scenarios::ProgramStage>;

  /// `node` outlives the object. `gpus` of each node.
  ElastisimStages(const FormulaValues& arguments,
                  std::int32_t nodes,
                  std::int32_t gpus,
                  const ElastisimNode& node);

  /// Appends one iteration of the phase.
  void append(const ElastisimPhase& phase, Stages& stages);

  /// Iterations of a phase, at least 0; a fraction is cut off.
  std::int64_t iterations(const ElastisimPhase& phase);

  /// Empty: all went well. Otherwise subject and message of what is wrong.
  const std::string& wrong() const { return wrong_; }

 private:
  void append_task(const ElastisimTask& task, Stages& stages);
  void append_once(const ElastisimTask& task, Stages& stages);
  void append_compute(const ElastisimTask& task, Stages& stages);
  double gpu_seconds(const ElastisimTask& task);
  void give_cpu(const ElastisimTask& task, scenarios::ProgramStage& stage);
  double between_nodes(const ElastisimTask& task, double bytes, double& inside) const;
  void send(const ElastisimTask& task, double bytes, scenarios::ProgramStage& stage);
  void send_matrix(const std::vector<double>& bytes, scenarios::ProgramStage& stage);
  void append_storage(const ElastisimTask& task, Stages& stages);
  void push(scenarios::ProgramStage stage, Stages& stages);
  double value(const ElastisimAmount& amount);
  std::vector<double> shared_out(const ElastisimTask& task);
  double largest_share(const ElastisimTask& task);
  std::int64_t times(const ElastisimAmount& amount);
  void fail(std::string wrong);

  FormulaValues values_;
  std::int32_t nodes_;
  std::int32_t gpus_;
  const ElastisimNode& node_;
  std::vector<scenarios::RankTransfer> pending_;  ///< Asynchronous; beside the next stage.
  std::size_t transfers_ = 0;                     ///< Of all stages.
  const ElastisimTask* task_ = nullptr;           ///< For messages.
  std::string wrong_;
};

}  // namespace orrery::sim
