#include "core/driver/term_orders.hpp"

#include <utility>
#include <variant>

#include "core/control/controller.hpp"
#include "core/driver/replay.hpp"
#include "core/record/codec.hpp"

namespace orrery {

void TermOrders::begin(Epoch epoch, Sequence first) {
  *this = TermOrders{};
  epoch_ = epoch;
  first_ = first;
}

void TermOrders::stepped(Sequence sequence, std::span<const CommandBody> orders) {
  last_ = sequence;
  if (orders.empty()) return;
  bytes_.clear();
  Encoder encoder(bytes_);
  encoder.put(sequence.value);
  for (const CommandBody& order : orders) encoder.put(order);
  digester_.update(bytes_.bytes());
  count_ += orders.size();
}

std::string TermOrders::text() const {
  if (first_.value == 0) return {};
  return "epoch " + std::to_string(epoch_.value) + ": " + std::to_string(count_) +
         " orders of records " + std::to_string(first_.value) + " to " +
         std::to_string(last_.value) + ", digest " + digest().to_hex();
}

Result<std::vector<TermOrders>> orders_of_terms(StateStore& store) {
  std::vector<TermOrders> terms;
  Controller controller;
  Commands commands;
  const auto end = read_journal(store, Sequence{1}, Digest{}, [&](Sequence at, const Event& event) {
    if (const auto* begun = std::get_if<EpochStarted>(&event.body)) {
      terms.emplace_back();
      terms.back().begin(begun->epoch, at);
    }
    commands.clear();
    controller.step(event, commands);
    // No plan is asked for here; what was answered is in the journal.
    (void)controller.take_touched();
    while (controller.take_plan_request()) continue;
    if (!terms.empty()) terms.back().stepped(at, commands.orders);
    return true;
  });
  if (!end) return end.errors();
  return terms;
}

}  // namespace orrery
