// What one step of a training job computes and sends, as plain data. docs/scenario_format.md gives
// unit, default and source of every field.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"

namespace orrery::scenarios {

/// How gradients are summed over the data-parallel replicas.
enum class AllReduce : std::uint8_t {
  Ring,  ///< Each node sends 2 (N - 1) / N of the bytes to its neighbour.
  Tree,  ///< Up a binary tree and down again; each edge carries the bytes once each way.
};

/// One step: an iteration over one global batch. Every size is of one step.
struct StepSpec {
  double units = 0;  ///< Of the job's work in one step; 0: the job sends nothing.
  Bytes gradient;    ///< All-reduced between the data-parallel replicas.
  AllReduce all_reduce = AllReduce::Ring;
  double overlap = 0;  ///< Share of the exchange that may hide behind compute, 0 to 1.
  std::int32_t tensor_parallel = 1;    ///< Devices that share each layer, at least 1.
  Bytes tensor;                        ///< All-reduced within each tensor-parallel group, by each.
  std::int32_t pipeline_parallel = 1;  ///< Stages of layers, at least 1.
  Bytes activation;                    ///< Between two stages, for one microbatch, each way.
  std::int32_t microbatches = 1;       ///< At least 1.
};

/// What a job saves, and when.
struct CheckpointSpec {
  Bytes size;                            ///< Of the whole job; 0: nothing is sent anywhere.
  Duration interval = Duration::zero();  ///< Zero: `timing.checkpoint_interval`.
  bool blocking = true;                  ///< Whether the work waits until it is written.
};

/// What moves devices between the roles of a loop while a turn goes on.
enum class StreamScheduler : std::uint8_t {
  Static,   ///< Nothing: each role keeps its own.
  Dynamic,  ///< core/placement/dynamic_scheduler.hpp.
};

/// A turn whose parts go on at once: groups of sequences go on from one to the next as they are
/// done, and the training takes them in minibatches.
struct StreamSpec {
  StreamScheduler scheduler = StreamScheduler::Static;
  std::int32_t group = 1;        ///< Sequences of one prompt, which go on together.
  std::int32_t minibatches = 1;  ///< Of a turn.
  bool pre_process = false;      ///< Dynamic: rollout begins on the train role's devices as well.
  bool wait_before_last = true;  ///< Dynamic: the last minibatch has all devices.
  Duration resize = Duration::zero();   ///< Training stands while its size changes.
  Duration migrate = Duration::zero();  ///< A sequence that moves is so much later.
};

/// How many replicas a role may have.
struct SearchedReplicas {
  std::string role;
  std::int32_t min = 1;
  std::int32_t max = 1;
};

/// What may be tried to find a placement, and what only a search needs to know.
struct SearchSpec {
  Duration switch_time;                     ///< A device passes from one role to another.
  Duration handover;                        ///< What a micro-batch costs each part that takes it.
  std::int32_t group = 1;                   ///< Sequences of one prompt; divides `sequences`.
  std::vector<std::int32_t> micro_batches;  ///< Ascending; empty: powers of two up to 16.
  std::int32_t devices = 0;                 ///< At most so many; 0: all of the cluster.
  std::vector<std::vector<std::string>> apart;  ///< Roles that share no device with each other.
  std::vector<SearchedReplicas> replicas;       ///< Of roles with bounds; of others 1 and more.
};

/// One turn of a reinforcement learning loop: generate, reward, infer, train, send the weights.
/// Roles are named; one role may do several parts. Times are of all replicas of the role together
/// with the fewest replicas, and shrink as replicas are added.
struct LoopSpec {
  std::string generate_role;
  std::int32_t sequences = 0;    ///< Generated in one turn by all replicas; 0: no loop.
  double tokens_per_second = 0;  ///< Of one sequence on its replica, above 0.
  std::int32_t concurrent = 1;   ///< Sequences that one replica generates at once.
  double length_median = 0;      ///< Tokens of a sequence: lognormal,
  double length_sigma = 0;       ///< standard deviation of the logarithm,
  double length_max = 0;         ///< cut here; above 0.
  std::string reward_role;       ///< Empty: no reward part.
  Duration reward;               ///< Time of the reward part.
  std::string inference_role;    ///< Empty: no inference part.
  Duration inference;            ///< Time of the inference part.
  std::string train_role;
  Duration train;                    ///< Compute time of the train part, its exchange aside.
  Bytes gradient;                    ///< All-reduced between the train role's nodes in one turn.
  double overlap = 0;                ///< As in StepSpec.
  Bytes weights;                     ///< Sent from the train role's first node to the nodes of the
                                     ///< generate role that have no part in the training.
  std::optional<StreamSpec> stream;  ///< None: one part after the other.
  std::optional<SearchSpec> search;  ///< None: all that fits, and devices pass in no time.
};

/// A transfer between ranks; -1 is the cluster's storage.
struct RankTransfer {
  std::int32_t from = 0;
  std::int32_t to = 0;
  double bytes = 0;
};

/// What ranks send to each other in one stage of a program.
enum class RankPattern : std::uint8_t { None, Ring, AllToAll, Transfers };

/// A stage of a program: compute and transfers that begin together; it is done when all are.
struct ProgramStage {
  double seconds = 0;  ///< Fixed time, at least 0.
  std::vector<double>
      flops;  ///< By rank, or one entry for every rank; divided by the node's speed.
  RankPattern pattern = RankPattern::None;
  double bytes = 0;                     ///< Ring, AllToAll: as in sim/fabric/stage.hpp.
  std::vector<RankTransfer> transfers;  ///< Transfers, and those from and to the storage.
};

/// Ranks are those of all the job's workers, whatever their role.
/// Stages one after the other, over and over: one round is one unit of the job's work.
struct Program {
  std::vector<ProgramStage> stages;
};

/// What a job sends. At most one of `step`, `loop` and `programs` says something.
struct TrafficSpec {
  StepSpec step;
  LoopSpec loop;
  /// From importers: entry i is for `programs_from` + i replicas; the last one for more.
  std::vector<Program> programs;
  std::int32_t programs_from = 1;
  CheckpointSpec checkpoint;
};

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::AllReduce> {
  static constexpr std::array kNames{"ring", "tree"};
};

template <>
struct EnumNames<scenarios::StreamScheduler> {
  static constexpr std::array kNames{"static", "dynamic"};
};

}  // namespace orrery
