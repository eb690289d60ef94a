// Where the roles of a job sit, read against the cluster that they are to sit on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cluster/resources.hpp"
#include "core/cluster/seat.hpp"
#include "core/job/spec.hpp"
#include "core/placement/inventory.hpp"
#include "scenarios/language/yaml/reading.hpp"

namespace orrery::scenarios {

/// The cluster as placements see it, made when the first one asks.
class PlacementGround {
 public:
  /// `groups` must outlive this. Nothing: no cluster is known.
  explicit PlacementGround(std::optional<std::span<const NodeGroup>> groups)
      : groups_(groups.value_or(std::span<const NodeGroup>{})), known_(groups.has_value()) {}

  /// False: placements are read for any cluster.
  bool is_known() const { return known_; }

  /// Null where the groups are not sound or there are none: that was reported.
  const placement::Inventory* inventory();

  std::span<const NodeGroup> groups() const { return groups_; }

  /// A placement was read that a cluster has still to judge.
  void note_unjudged() { unjudged_ = true; }

  bool has_unjudged() const { return unjudged_; }

  /// Counts processes that were placed. False once a scenario has placed so many that a reader of
  /// untrusted files should stop.
  bool may_place(std::size_t processes);

 private:
  std::span<const NodeGroup> groups_;
  bool known_ = true;
  bool unjudged_ = false;
  std::optional<placement::Inventory> inventory_;
  std::size_t placed_ = 0;
};

/// The places of one job's roles, while it is read.
class JobPlaces {
 public:
  /// `ground` must outlive this.
  explicit JobPlaces(PlacementGround& ground) : ground_(ground) {}

  /// `virtual_clusters` of the job; before its roles.
  void read_virtual_clusters(const MapReader& job, JobSpec& spec);

  /// `placement`, `placements`, `virtual_cluster` and `workers` (the value of that key, or null) of
  /// a role whose other keys were read. What the role leaves open is derived: replicas, devices,
  /// device model.
  void read_role(const MapReader& reader,
                 const YamlNode* workers,
                 const JobSpec& spec,
                 RoleSpec& role);

  /// `take_turns` of the job, and what its virtual clusters leave open; after its roles. Reports
  /// roles on the same devices that take no turns.
  void finish(const MapReader& job, JobSpec& spec) const;

 private:
  /// A role with all that it may sit on.
  struct Placed {
    std::string role;
    Origin origin;
    std::string subject;
    std::vector<std::vector<Seat>> sizes;
  };

  /// What a virtual cluster says of its bundles.
  struct Said {
    bool cpu = false;
    bool memory = false;
  };

  void read_placements(const MapReader& reader, RoleSpec& role);
  void read_anywhere(const MapReader& reader, RoleSpec& role);
  void read_worker_group(const MapReader& reader,
                         const YamlNode* workers,
                         const JobSpec& spec,
                         RoleSpec& role) const;
  void check_overlaps(const MapReader& job, const JobSpec& spec) const;

  PlacementGround& ground_;
  std::vector<Said> said_;  ///< As `JobSpec::virtual_clusters`.
  std::vector<Placed> placed_;
};

}  // namespace orrery::scenarios
