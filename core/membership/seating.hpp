// Jobs whose specification says where their workers sit: placements and virtual clusters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/membership/change.hpp"
#include "core/vcluster/form.hpp"

namespace orrery {

/// Replicas of the role at these replicas of the elastic one.
std::int32_t size_of(const JobState& job, RoleIndex role, std::int32_t replicas);

/// Seats of a role with placements at this size; empty where the size is not named.
std::span<const Seat> seats_at(const JobState& job, RoleIndex role, std::int32_t replicas);

/// The largest size at which the role may be: `replicas`, or for a role with placements the
/// largest named one not above it; 0 where there is none.
std::int32_t size_at_most(const JobSpec& spec, RoleIndex role, std::int32_t replicas);

/// Sizes of a role with placements: "2, 4 or 8".
std::string sizes_text(const RoleSpec& role);

/// Places for every role at these replicas of the elastic one: seated roles on their seats, virtual
/// clusters formed, the others wherever they fit beside. Claims nothing. False where it does not
/// fit now.
bool find_seats(Step& step, const JobState& job, std::int32_t replicas, std::vector<Placed>& out);

/// Whether the worker already sits where the role's worker of its local rank shall sit at this
/// size. False where there is no such seat.
bool sits_right(const JobState& job, const Worker& worker, std::int32_t replicas);

/// Places for those local ranks of the role whose worker is not among `kept`, in order.
void add_missing_seats(const JobState& job,
                       RoleIndex role,
                       std::int32_t replicas,
                       std::span<const std::uint8_t> kept,
                       std::vector<Placed>& out);

/// Whether the seat of each place is free, counting all that the job holds as given back.
bool seats_fit_instead(const State& state, const JobState& job, std::span<const Placed> places);

/// Devices under all the workers together, each counted once.
std::int32_t distinct_devices(const JobState& job, std::span<const Worker> workers);

/// The same in thousandths, parts counted as parts.
std::int64_t held_thousandths(const JobState& job, std::span<const Worker> workers);

/// Devices that the job has at this size of its elastic role, each counted once.
std::int32_t devices_at_size(const JobState& job, std::int32_t replicas);

/// The job's virtual clusters, as asked of `Placer::form`.
std::vector<vcluster::BundleRequest> requests_of(const State& state, const JobSpec& spec);

/// Seats of a worker group's workers on formed virtual clusters, in rank order; empty where the
/// role is none.
std::vector<Seat> worker_group_seats(const JobSpec& spec,
                                     RoleIndex role,
                                     const vcluster::Forming& forming);

/// What nodes offer to virtual clusters now.
std::vector<vcluster::NodeOffer> node_offers(const State& state);

}  // namespace orrery
