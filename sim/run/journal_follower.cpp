#include "sim/run/journal_follower.hpp"

#include <array>
#include <variant>

#include "core/base/invariant.hpp"
#include "core/record/codec.hpp"

namespace orrery::sim {

void JournalFollower::on_started(LeaderNumber leader,
                                 Epoch epoch,
                                 Sequence replayed,
                                 Digest state) {
  ++started_;
  if (next_ != nullptr) next_->on_started(leader, epoch, replayed, state);
}

void JournalFollower::on_start_failed(const Errors& errors) {
  if (next_ != nullptr) next_->on_start_failed(errors);
}

void JournalFollower::on_appended(LeaderNumber leader, Epoch writer, const StoredRecord& record) {
  if (next_ != nullptr) next_->on_appended(leader, writer, record);
  Kept kept{record.sequence, record.chain, record.version, writer, {}};
  if (!spare_.empty()) {
    kept.bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  kept.bytes.assign(record.bytes.begin(), record.bytes.end());
  waiting_.push_back(std::move(kept));
}

void JournalFollower::on_durable(Sequence last) {
  if (next_ != nullptr) next_->on_durable(last);
  while (!waiting_.empty() && waiting_.front().sequence <= last) {
    Kept kept = std::move(waiting_.front());
    waiting_.pop_front();
    step(kept);
    spare_.push_back(std::move(kept.bytes));
  }
}

void JournalFollower::step(const Kept& kept) {
  Event event;
  ByteReader bytes(kept.bytes);
  invariant(decode(bytes, kept.version, event) && bytes.finished(), "a stored record is an event");
  invariant(kept.sequence == state().sequence.next(), "records become durable in their order");
  if (copy_ != nullptr && copy_errors_.empty()) {
    const std::array records{StoredRecord{kept.sequence, kept.chain, kept.bytes, kept.version}};
    if (const Status copied = copy_->append(kept.writer, records); !copied)
      copy_errors_ = copied.errors();
  }
  commands_.clear();
  if (observer_ != nullptr && event.at > state().now) observer_->on_instant_over(state());
  controller_.step(event, commands_);
  chain_ = kept.chain;
  const bool plan = std::holds_alternative<PlanProposed>(event.body) ||
                    std::holds_alternative<PlanLost>(event.body);
  if (!std::holds_alternative<TimeReached>(event.body) && (!plan || !commands_.orders.empty()))
    ++news_;
  // This controller is asked for no plans.
  (void)controller_.take_touched();
  while (controller_.take_plan_request()) continue;
  if (observer_ == nullptr) return;
  observer_->on_event(kept.sequence, event);
  if (!commands_.notices.empty()) observer_->on_notices(commands_.notices, state());
}

void JournalFollower::on_lost(Sequence last) {
  if (next_ != nullptr) next_->on_lost(last);
  while (!waiting_.empty() && waiting_.back().sequence > last) waiting_.pop_back();
}

void JournalFollower::on_snapshot(LeaderNumber leader, const StoredSnapshot& snapshot) {
  if (next_ != nullptr) next_->on_snapshot(leader, snapshot);
}

void JournalFollower::on_order(LeaderNumber leader, const Command& command) {
  if (next_ != nullptr) next_->on_order(leader, command);
  if (keeps_orders_) orders_.push_back(command.body);
}

void JournalFollower::on_ended(LeaderNumber leader, LeaderEnd how, Sequence stepped, Digest state) {
  ++ended_;
  if (next_ != nullptr) next_->on_ended(leader, how, stepped, state);
}

}  // namespace orrery::sim
