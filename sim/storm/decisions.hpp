// What a storm decided, as fingerprints: they are pinned, so that a change of any decision or text
// is seen. They judge nothing; the checker does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/driver/state_store.hpp"
#include "core/record/command.hpp"
#include "core/state/state.hpp"
#include "sim/agents/world_tap.hpp"

namespace orrery::sim {

/// What is fingerprinted by itself, so that a difference says what differs.
enum class DecisionPart : std::uint8_t {
  Journal,    ///< The bytes of all records, lost ones too, and what the fold of them came to.
  Orders,     ///< Each order with its time.
  Notices,    ///< What was told, and its words.
  Statuses,   ///< What users read of the jobs, after each change of a phase.
  Processes,  ///< Beginnings and ends of processes with their times.
};

inline constexpr std::size_t kDecisionParts = 5;

/// 32 bits of the digest of each part: a change goes unseen once in four thousand million.
using DecisionDigests = std::array<std::uint32_t, kDecisionParts>;

/// Takes down a run. Called in the order of what happens.
class DecisionRecorder {
 public:
  void appended(const StoredRecord& record);

  /// A leader began or ended with this state.
  void state_was(Digest state) { add(DecisionPart::Journal, state); }

  void ordered(Instant now, const Command& order);

  /// After a step: what it told, and the state that it left.
  void told(std::span<const Notice> notices, const State& state);

  void process(Instant now, const WorldProcess& process, bool began);

  DecisionDigests digests() const;

 private:
  void add(DecisionPart part, Digest digest);
  void take(DecisionPart part);

  std::array<Digester, kDecisionParts> parts_;
  ByteWriter bytes_;  ///< Of what is being added.
};

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::DecisionPart> {
  static constexpr std::array kNames{"journal", "orders", "notices", "statuses", "processes"};
};

}  // namespace orrery
