// What the ranks of a job tell each other when they check their devices before they start: two
// rounds in groups of two, which rank 0 forms and judges (core/nodecheck).
//
// They meet where they will meet to train, under another name, and set at rank 0:
//
//   groups/K          ranks of the groups of round K, "0,1;2,3"          by rank 0
//   begin/K/RANK      "ok ADDRESS:PORT", or "failed WHY": its compute    by each rank
//   summed/K/RANK    its sums with its group are over, well or not       by each rank
//   measure/K/RANK    "ok NANOSECONDS DIGEST", or "failed WHY"           by each rank
//   verdict           a line for each rank: "ok", "slow FACTOR" or "abnormal WHY"
//   read/RANK         the verdict has arrived                            by each rank
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/nodecheck/node_check.hpp"
#include "runtime/workers/collective.hpp"
#include "runtime/workers/compute.hpp"

namespace orrery::worker {

/// How much a check does.
struct CheckWork {
  std::int32_t products = 8;  ///< In each round, at least 1.
  std::int32_t sums = 8;      ///< All-reduces of a whole product in each round, at least 1.
  double slow_factor = 2;     ///< A rank is slow beyond this many times the lower median.
};

/// What a check found of one rank.
struct RankVerdict {
  enum class Kind : std::uint8_t { Passed, Slow, Abnormal };

  Kind kind = Kind::Passed;
  std::string why;  ///< Empty where it passed.

  friend bool operator==(const RankVerdict&, const RankVerdict&) = default;
};

/// The line of a verdict, and back; what is no such line is Abnormal, with the line.
std::string line_of(const RankVerdict& verdict);
RankVerdict verdict_in(std::string_view line);

/// The groups of a round as a value, and back. Numbers beyond `ranks` and what is no number are
/// left out.
std::string text_of(const CheckGroups& groups);
CheckGroups groups_in(std::string_view text, std::size_t ranks);

/// What a rank needs of its process.
struct CheckParts {
  Compute& compute;        ///< Of rank 0 on every rank: all compute the same.
  Collective& collective;  ///< In no group.
};

/// Computes on the device of `parts` alone: the same product again and again, which must have the
/// same bits each time and entries from 0 to 1. `took`: all of them; `digest`: of the product. An
/// outcome that is not Done says what is wrong with the device.
Outcome check_device(const CheckParts& parts,
                     const CheckWork& work,
                     Duration& took,
                     Digest& digest);

/// Both rounds, as rank `group.rank` of all; `group` has at least two ranks, and its meeting is at
/// rank 0. Every rank calls it. Outcome: not Done where ranks did not meet or one has left, which
/// says nothing of this rank; else `verdict` is about this rank.
Outcome check_together(const Group& group,
                       const CheckParts& parts,
                       const CheckWork& work,
                       const Limits& limits,
                       RankVerdict& verdict);

}  // namespace orrery::worker
