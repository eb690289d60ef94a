// The truth about one job that was submitted and is not over.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/models/pollux_job.hpp"
#include "sim/model/model_job.hpp"

namespace orrery::sim {

/// One worker process of the model.
struct ModelWorker {
  RoleIndex role;
  std::int32_t local_rank = 0;
  NodeId node;
  Incarnation incarnation;
  Generation born;  ///< Generation and
  Rank birth_rank;  ///< rank at its start: how it is reported.
  Rank rank;        ///< Its present one: how orders name it.
  bool ready = false;
  bool stopping = false;
  bool alive = true;  ///< False: dead, and nobody has been told.
};

/// A job with its workers and its progress.
struct LiveJob {
  ModelJob job;
  JobId id;
  std::vector<ModelWorker> workers;        ///< In order of start; ended ones are removed.
  std::vector<std::int32_t> script_lives;  ///< Per script: how often it has struck.
  Generation generation;
  std::uint32_t world_size = 0;  ///< Workers of the generation that have not done their part.
  Incarnation newest;            ///< Of all that were started.
  bool running = false;          ///< Work goes on (or would, at rate 0).
  double done = 0;               ///< Work at `as_of`.
  double rate = 0;               ///< Units per second from then on.
  double safe = 0;               ///< Work in the last checkpoint.
  Instant as_of;
  Instant running_since;    ///< For checkpoints at fixed intervals.
  Instant paused_until;     ///< Rescale or restore pause.
  std::uint32_t stamp = 0;  ///< Of the completion that is still meant.
  std::optional<PolluxJob> pollux;
  bool over = false;  ///< The controller has ended it.

  /// Work at `now`, at the present rate.
  double done_at(Instant now) const;

  /// Work that a crash at `now` leaves: all of it where `interval` is zero, else the last multiple.
  double safe_at(Instant now, Duration interval) const;

  /// Members that are ready, of the elastic role and in all.
  std::int32_t ready_elastic() const;
  std::uint32_t ready_count() const;

  bool is_required(const ModelWorker& worker) const {
    return job.spec->roles[worker.role.index()].completion == Completion::Required;
  }
};

}  // namespace orrery::sim
