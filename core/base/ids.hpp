// Dense integer ids: each indexes an array, and no two kinds mix.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace orrery {

/// An id of one kind (`Tag`). Dense from 0, so hot state is arrays indexed by `index()`.
/// `none()` is the absent id; it orders after every real one.
template <class Tag, class Rep = std::uint32_t>
struct Id {
  Rep value = std::numeric_limits<Rep>::max();

  constexpr Id() = default;

  constexpr explicit Id(Rep v) : value(v) {}

  static constexpr Id none() { return Id{}; }

  constexpr bool is_none() const { return value == std::numeric_limits<Rep>::max(); }

  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

  friend constexpr auto operator<=>(Id, Id) = default;
};

/// One job, numbered in the order in which the controller accepted submissions: a lower id is
/// older.
using JobId = Id<struct JobTag>;
/// One node, numbered in the order of the cluster description.
using NodeId = Id<struct NodeTag>;
/// A role inside one job, numbered in the order of its specification.
using RoleIndex = Id<struct RoleTag, std::uint16_t>;
/// A device model known to the cluster (for example "h200"), numbered in order of first mention.
using DeviceModelId = Id<struct DeviceModelTag, std::uint16_t>;
/// A device on one node, 0 to 63.
using DeviceIndex = Id<struct DeviceTag, std::uint16_t>;
/// One lease in the device ledger; reused after release.
using LeaseId = Id<struct LeaseTag>;
/// Dense rank of a worker inside its job's current generation.
using Rank = Id<struct RankTag>;

/// A counter that only grows; a message that carries a lower one than the current is stale.
template <class Tag, class Rep = std::uint32_t>
struct Ordinal {
  Rep value = 0;

  constexpr Ordinal next() const { return Ordinal{static_cast<Rep>(value + 1)}; }

  friend constexpr auto operator<=>(Ordinal, Ordinal) = default;
};

/// One membership of a job between rescales; 0 before the first start.
using Generation = Ordinal<struct GenerationTag>;
/// One leader's term; raised by `EpochStarted`.
using Epoch = Ordinal<struct EpochTag>;
/// One start of one worker; raised each time that a rank is started again.
using Incarnation = Ordinal<struct IncarnationTag>;
/// Position of a record in the journal; the first record has 1.
using Sequence = Ordinal<struct SequenceTag, std::uint64_t>;

}  // namespace orrery
