#include "runtime/http/request_batch.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace orrery::http {
namespace {

using runtime::RequestOutcome;

/// A batch on its way. On the I/O thread only.
struct Batch {
  ControlClient client;
  std::vector<EventBody> requests;
  BatchEnds ends;
  std::function<void(const std::vector<RequestOutcome>&)> then;
  std::vector<RequestOutcome> outcomes;  ///< Of each that was asked; meaningless until it is told.
  std::size_t told = 0;
  bool ended = false;

  bool asks_more() const { return !ended && outcomes.size() < requests.size(); }
};

using BatchPtr = std::shared_ptr<Batch>;

/// Looks between two decisions of the core.
constexpr std::size_t kSlice = 16;

void look_from(const ControlClient& client,
               const CallPtr& call,
               std::size_t first,
               std::size_t count,
               const std::function<void(const runtime::ControlView&, std::size_t)>& look,
               const ControlClient::Then& then) {
  client.look(call, [=](const runtime::ControlView& view) -> ControlClient::Then {
    const std::size_t end = std::min(first + kSlice, count);
    for (std::size_t i = first; i < end; ++i) look(view, i);
    if (end == count) return then;
    return [=] { look_from(client, call, end, count, look, then); };
  });
}

void ask_more(const BatchPtr& batch);

void on_outcome(const BatchPtr& batch, std::size_t index, const RequestOutcome& outcome) {
  batch->outcomes[index] = outcome;
  ++batch->told;
  const bool unavailable = outcome.kind == RequestOutcome::Kind::Unavailable;
  const bool refused = outcome.kind == RequestOutcome::Kind::Refused;
  if (unavailable || (refused && batch->ends == BatchEnds::AtRefusal)) batch->ended = true;
  if (batch->asks_more()) return ask_more(batch);
  if (batch->told == batch->outcomes.size()) batch->then(batch->outcomes);
}

void ask_more(const BatchPtr& batch) {
  while (batch->asks_more() && batch->outcomes.size() - batch->told < kBatchOnTheWayMax) {
    const std::size_t index = batch->outcomes.size();
    batch->outcomes.emplace_back();
    batch->client.try_to_ask(
        std::move(batch->requests[index]),
        [batch, index](const RequestOutcome& outcome) { on_outcome(batch, index, outcome); });
  }
}

}  // namespace

void ask_all(const ControlClient& client,
             std::vector<EventBody> requests,
             BatchEnds ends,
             std::function<void(const std::vector<RequestOutcome>&)> then) {
  if (requests.empty()) return then({});
  ask_more(std::make_shared<Batch>(
      Batch{client, std::move(requests), ends, std::move(then), {}, 0, false}));
}

void look_at_all(const ControlClient& client,
                 const CallPtr& call,
                 std::size_t count,
                 const std::function<void(const runtime::ControlView&, std::size_t)>& look,
                 const ControlClient::Then& then) {
  look_from(client, call, 0, count, look, then);
}

}  // namespace orrery::http
