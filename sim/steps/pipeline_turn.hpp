// One turn of a reinforcement learning loop as a pipeline over devices: parts on devices of their
// own go on at once in micro-batches, parts on the same devices take turns.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "scenarios/language/spec/step_spec.hpp"

namespace orrery::sim {

/// What generation gives: `lengths` handed out to equal instances.
struct Generated {
  std::vector<double> ends;  ///< When each group of sequences has its end, ascending; seconds.
  double even_s = 0;         ///< What it would take if all slots were busy all the time.
  double busy_s = 0;         ///< Mean over the instances: until the last one of its own has ended.
};

/// Seconds of each sequence of a turn, in their order, drawn from `random`.
std::vector<double> draw_sequences(const scenarios::LoopSpec& loop, Random& random);

/// Group j of `group` sequences is of instance j modulo `instances`, which begins its sequences in
/// order, `concurrent` at once. `seconds` holds a whole number of groups.
Generated generate_groups(const std::vector<double>& seconds,
                          std::int32_t group,
                          std::int32_t instances,
                          std::int32_t concurrent);

/// One part of a turn; the first one generates.
struct PipelinePart {
  std::int32_t role = 0;     ///< Parts of one role are on the same devices.
  double seconds = 0;        ///< For all of a turn; of generation it is not looked at.
  std::uint32_t beside = 0;  ///< Bit j: shares a device with part j.
};

/// How a turn goes over its devices. Each part takes a micro-batch as soon as the part before is
/// done with it. Of parts that share a device a later one begins when the earlier one has done all
/// of the turn, and where it is of another role the devices change hands.
struct Pipeline {
  std::vector<PipelinePart> parts;  ///< In the order of the data, at least 1, at most 32.
  std::int32_t micro_batches = 1;   ///< At least 1; no more than there are groups count.
  double switch_s = 0;              ///< Devices pass from one role to another.
  double handover_s = 0;            ///< What each micro-batch costs each part but the first.
  double weights_s = 0;             ///< From the last part's end to the next turn.
};

/// What the seconds of a turn are made of, along the path that decides its length: they sum up to
/// the turn.
struct TurnPath {
  double even_s = 0;          ///< Generation, as far as it would go with all slots busy.
  double tail_s = 0;          ///< The rest of it: the longest sequences.
  std::vector<double> parts;  ///< By part; of the first 0.
  double switch_s = 0;
  double handover_s = 0;
  double weights_s = 0;

  double seconds() const;
  TurnPath& operator+=(const TurnPath& other);
  TurnPath& operator*=(double factor);
};

/// The turn, its generation as `generated` says. With the same roles and devices turn after turn.
TurnPath pipeline_turn(const Pipeline& pipeline, const Generated& generated);

}  // namespace orrery::sim
