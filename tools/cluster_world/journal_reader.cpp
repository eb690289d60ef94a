#include "tools/cluster_world/journal_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "core/record/codec.hpp"

namespace orrery::cli {
namespace {

constexpr int kFailuresMax = 100;

}  // namespace

Status JournalReader::follow() {
  if (!store_) {
    std::error_code code;
    if (!std::filesystem::exists(path_, code)) return Done{};
    auto opened = runtime::SqliteStore::open(path_, runtime::SqliteStore::Access::ReadOnly);
    // It is being made.
    if (!opened) return Done{};
    store_ = std::move(*opened);
  }
  Status stepped = Done{};
  const Status read = store_->read_from(last_.next(), [&](const StoredRecord& record) {
    stepped = step(record);
    return stepped.has_value();
  });
  if (!stepped) return stepped;
  // A writer that just then moves its log keeps readers out for a moment.
  failures_ = read ? 0 : failures_ + 1;
  return failures_ < kFailuresMax ? Status(Done{}) : read;
}

Status JournalReader::step(const StoredRecord& record) {
  Event event;
  ByteReader bytes(record.bytes);
  if (!decode(bytes, record.version, event) || !bytes.finished())
    return Error{.file = path_,
                 .subject = "record " + std::to_string(record.sequence.value),
                 .message = "is no event of this version"};
  event.at = event.at + shift_;
  if (event.at < zero_) event.at = std::max(event.at, state().now);
  event.occurred_at = event.occurred_at + shift_;
  commands_.clear();
  controller_.step(event, commands_);
  if (const auto* begun = std::get_if<EpochStarted>(&event.body)) {
    terms_.emplace_back();
    terms_.back().begin(begun->epoch, record.sequence);
  }
  if (!terms_.empty()) terms_.back().stepped(record.sequence, commands_.orders);
  last_ = record.sequence;
  chain_ = record.chain;
  const bool plan_without_orders =
      (std::holds_alternative<PlanProposed>(event.body) && commands_.orders.empty()) ||
      std::holds_alternative<PlanLost>(event.body);
  if (!std::holds_alternative<TimeReached>(event.body) && !plan_without_orders) ++news_;
  for (const auto& order : commands_.orders) orders_.push_back(order);
  (void)controller_.take_touched();
  while (controller_.take_plan_request()) continue;
  if (observer_ == nullptr) return Done{};
  observer_->on_event(record.sequence, event);
  if (!commands_.notices.empty()) observer_->on_notices(commands_.notices, state());
  for (const auto& order : commands_.orders) observer_->on_order(order, event.at);
  return Done{};
}

}  // namespace orrery::cli
