// Queues in front of a policy: how much each queue gets is theirs to say, which of its jobs get it
// is the policy's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/policy.hpp"
#include "policies/queues/queue_books.hpp"
#include "policies/queues/queue_reclaim.hpp"
#include "policies/queues/queue_view.hpp"

namespace orrery::policies {

/// Each queue without others below it has a policy of its own, all of one kind. Asked for a plan,
/// it asks them in turn, the queue first that has the least of what it is entitled to; each sees
/// the jobs of its queue and what is free, and starts or grows jobs while the queue holds less than
/// its share. What no queue that is behind can use goes to the others; what elastic jobs of such a
/// queue could grow by, once their policy has left it for `patience`. What is given beyond limits
/// of queues and users, or out of what others are guaranteed for good, is asked for again without
/// it, and never granted.
///
/// Once a period it takes back what others hold beyond their shares for jobs of queues that are
/// behind (QueueReclaim). A queue that is behind and could start nothing for `patience` has a turn:
/// it comes first, after guarantees, until its first job runs and for as long again.
class Queued final : public Policy {
 public:
  using Maker = std::function<std::unique_ptr<Policy>()>;

  /// `spec` is sound (`check_queues`); `make` makes one policy for each queue, all equal.
  Queued(QueuesSpec spec, const Maker& make);

  std::string_view name() const override { return name_; }

  Triggers triggers() const override;

  /// What a user asks for is a bound: the core would not ask the queues.
  bool sizes_jobs() const override { return true; }

  bool tunes_batches() const override { return first().tunes_batches(); }

  std::string_view usual_placer() const override { return first().usual_placer(); }

  std::string_view queues() const override { return text_; }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;
  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// One question to the policy of one queue.
  struct Question {
    std::uint32_t leaf = 0;
    const JobView* job = nullptr;  ///< For `allocate`; null: `optimize`.
    bool borrows = false;          ///< May start jobs beyond its share.
    bool crosses = false;          ///< The last replica that an elastic job gets may cross it.
  };

  /// One queue's plan, and where a trial put the grants that name no nodes.
  struct Given {
    Plan plan;
    std::vector<std::vector<NodeCount>> nodes;  ///< By grant.
    bool gives_up = false;                      ///< Some job holds less, or elsewhere.
  };

  /// What is kept free for jobs of queues behind to grow.
  enum class Kept : std::uint8_t { All, UnlessLeftForLong };

  /// A queue that is behind, and could grow by what is free, but its policy does not let it.
  struct Left {
    Instant since;
    std::int64_t used = 0;  ///< By the queue since then, in the scale's units.
  };

  Queued(QueuesSpec spec, const Maker& make, std::unique_ptr<Policy> first);

  const Policy& first() const { return *policies_[books_.leaves().front()]; }

  bool quotas_allow(const ClusterView& view, JobId id, std::int32_t devices) const;
  Plan in_order(const ClusterView& view, const Question& question);
  Plan ask(const ClusterView& view, const Question& question);
  bool may_hold(const ClusterView& view,
                const Question& question,
                const QueueUse& spared,
                JobId id,
                std::int32_t devices) const;
  bool may_start(const Question& question,
                 bool fixed,
                 const QueueUse& more,
                 const QueueUse& spared) const;
  bool may_grow(const ClusterView& view,
                const Question& question,
                JobId id,
                const QueueUse& more) const;
  bool others_leave_room(const ClusterView& view, std::uint32_t leaf, Kept kept) const;
  bool left_for_long(const ClusterView& view, std::uint32_t leaf) const;
  void note_what_is_left(const ClusterView& view);
  bool may_borrow(const ClusterView& view, std::uint32_t leaf) const;
  bool may_cross(const ClusterView& view, std::uint32_t leaf) const;
  QueueUse takeable(const ClusterView& view, std::uint32_t leaf) const;
  bool accept(const ClusterView& view, const Question& question, Plan& plan);
  std::vector<std::uint32_t> in_turn() const;
  bool give_on(const ClusterView& view, Given& given);
  bool take_grant(const ClusterView& view,
                  const Plan& plan,
                  const Grant& grant,
                  std::vector<NodeCount>& nodes);
  Plan joined(const ClusterView& view, std::vector<Given>& given) const;
  void size_jobs(const ClusterView& view, std::uint32_t leaf);

  QueueBooks books_;
  std::string text_;
  std::string name_;
  std::vector<std::unique_ptr<Policy>> policies_;  ///< By queue; null for those with others below.
  bool sizes_;                                     ///< Whether they choose how many replicas.
  QueueReclaim reclaim_;
  CapacityTrial trial_;
  std::int64_t cycle_ = 0;
  std::map<std::uint32_t, Left> left_;  ///< By queue.

  // Of one call.
  std::vector<std::pair<JobId, std::int32_t>> promised_;  ///< Devices more, by queues asked before.

  // Of one question.
  std::vector<JobId> refused_;  ///< Asked for in vain.
  std::vector<JobId> started_;  ///< By the plan that was looked at last.
  std::vector<JobId> kept_;     ///< With `narrow_`: no others may start.
  bool narrow_ = false;
  std::map<JobId, std::int64_t> most_;  ///< That elastic jobs may hold.
};

}  // namespace orrery::policies
