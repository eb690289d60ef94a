// EASY backfilling: the first waiting job has a reservation, later ones may not delay it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/base/sparse_array.hpp"
#include "core/plan/policy.hpp"
#include "policies/beside.hpp"
#include "policies/expected_ends.hpp"
#include "policies/gang_shape.hpp"
#include "policies/gang_starter.hpp"
#include "policies/lower_priority.hpp"

namespace orrery::policies {

/// Starts waiting jobs in queue order until one, the head, does not fit. Holders' estimates say
/// when the head will fit (the shadow time) and what is left beside it then. A later job starts now
/// if it fits and either ends by the shadow time or takes only of what is left.
///
/// An estimate counts from the present allocation; a job without one never ends, one that overran
/// it ends now. Where the head's shadow time is never, nothing is backfilled.
///
/// Source: D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
class Easy : public Policy {
 public:
  struct Options {
    /// Waiting jobs behind the head that one call looks at and leaves waiting; 0: all.
    std::int64_t backfill_depth = 1000;
    /// The head's reservation is of devices on known nodes, the lowest that will be free: what
    /// later jobs must leave alone even where others would do for the head. Otherwise a number.
    bool reserve_nodes = false;
  };

  explicit Easy(Options options) : options_(options) {}

  std::string_view name() const override { return "easy/1"; }

  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;

  /// Nothing: all it keeps follows from the view.
  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}

 private:
  /// The head's claim on the future.
  struct Reservation {
    Instant shadow = Instant::never();
    std::int64_t extra = 0;        ///< Devices beside the head at the shadow time.
    bool by_node = false;          ///< `extra` is not enough: later jobs must fit in `beside_`.
    bool looked_beside = false;    ///< `beside_` is ready.
    std::vector<NodeCount> parts;  ///< Of devices, that long jobs were given since.
    JobId head;
    Instant now;

    /// Whether any job that starts now could end by the shadow time.
    bool allows_short() const { return now < shadow; }

    /// Whether a job that starts now ends by the shadow time.
    bool is_short(const WaitEntry& entry) const {
      return entry.estimate > Duration::zero() && now + entry.estimate <= shadow;
    }
  };

  /// What waiting jobs have in common: where one fits nowhere any more, no other needs to try.
  struct Shape {
    Demand demand;
    std::int32_t replicas = 0;
    WaitKind kind = 0;
    std::uint64_t call = 0;    ///< The call that the answers are of.
    bool fits_now = false;     ///< False: on no free devices.
    bool fits_beside = false;  ///< False: on none that the head leaves until the end.
    bool is_closed = false;    ///< No job of it can start in this call any more.
  };

  /// The shapes of one kind of waiting jobs.
  struct Kind {
    std::int32_t shapes = 0;
    bool any_without = false;  ///< Jobs without a shape may be of it.
    std::uint64_t call = 0;
    std::int32_t closed = 0;  ///< Shapes, in this call.
  };

  /// The look along the queue of one call.
  struct Backfill {
    const ClusterView& view;
    Plan& plan;
    JobId head;
    WaitScan scan;
    std::optional<Reservation> reserved;
  };

  /// Also of those beyond the first 65,535 shapes: each is tried.
  static constexpr std::uint16_t kNoShape = UINT16_MAX;

  struct ShapeNumber {
    std::uint16_t number = kNoShape;
  };

  void absorb(const ClusterView& view);
  void refresh(const ClusterView& view, JobId id);
  JobId head_or(const ClusterView& view, JobId id);
  void start_all(const ClusterView& view, Plan& plan);
  bool start_or_push(const ClusterView& view, JobId id, Plan& plan);
  void learn_shape(const ClusterView& view, JobId id);
  Shape* shape_in_call(JobId id);
  void begin_call(Shape& shape);
  bool may_start(const WaitEntry& entry, const Shape& shape, const Reservation* reserved) const;
  void close_if_over(Shape& shape, Backfill& fill);
  bool look_at(const WaitEntry& entry, Backfill& fill);
  void foresee(const ClusterView& view);
  Reservation reserve(const ClusterView& view, const JobView& head);
  Reservation reserve_by_count(const ClusterView& view, const JobView& head);
  Reservation reserve_by_node(const ClusterView& view, const JobView& head);
  void look_beside(const ClusterView& view, Reservation& reserved);
  void follow_beside(std::size_t mark);
  void backfill(const ClusterView& view, JobId head, std::size_t place, Plan& plan);
  bool may_break_up(const Reservation& reserved, std::span<const NodeCount> nodes) const;
  static void note_parts(std::span<const NodeCount> nodes, Reservation& reserved);
  bool start_beside(const ClusterView& view,
                    const WaitEntry& entry,
                    Reservation& reserved,
                    Plan& plan);
  bool start_short(const WaitEntry& entry, const Reservation& reserved, Plan& plan);
  bool start_long(const ClusterView& view,
                  const WaitEntry& entry,
                  Reservation& reserved,
                  Plan& plan);

  Options options_;
  ExpectedEnds ends_;
  std::vector<JobId> foreseen_;  ///< Changed in `ends_` by what the last call proposed.
  std::map<GangShape, std::uint16_t> shape_numbers_;
  std::vector<Shape> shapes_;              ///< [number]
  SparseArray<ShapeNumber, 64> shape_of_;  ///< By job: that of its shape, once it waited.
  std::array<Kind, 64> kinds_;
  std::uint64_t call_ = 0;
  LowerPriority lower_;
  GangStarter gang_;
  Beside beside_;          ///< What long jobs may take now without touching the head's nodes.
  CapacityTrial scratch_;  ///< For a placer that has to try.
};

}  // namespace orrery::policies
