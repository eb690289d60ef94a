#include "core/driver/driver.hpp"

#include <algorithm>
#include <type_traits>

#include "core/record/codec.hpp"

namespace orrery {
namespace {

// Facts of one instant are stepped in this order, whatever order the world noticed them in:
// exits and completions, node facts, requests and submissions, timers, plans.
int order_of(const EventBody& body) {
  return std::visit(
      [](const auto& event) {
        using T = std::decay_t<decltype(event)>;
        if constexpr (std::is_same_v<T, WorkersChanged> || std::is_same_v<T, ProgressReported> ||
                      std::is_same_v<T, ProfilingChanged> || std::is_same_v<T, SubMasterSaid> ||
                      std::is_same_v<T, WorkerSuspected>)
          return 0;
        else if constexpr (std::is_same_v<T, NodeSilent> || std::is_same_v<T, NodeReturned> ||
                           std::is_same_v<T, NodesRelaunched> || std::is_same_v<T, NodeLeaving> ||
                           std::is_same_v<T, DevicesLost>)
          return 1;
        else if constexpr (std::is_same_v<T, TimeReached>)
          return 3;
        else if constexpr (std::is_same_v<T, PlanProposed>)
          return 4;
        else
          return 2;
      },
      body);
}

}  // namespace

Driver::Driver(Controller& controller,
               World& world,
               StateStore& store,
               Planner& planner,
               RunObserver* observer,
               DriverOptions options)
    : controller_(controller),
      world_(world),
      store_(store),
      planner_(planner),
      observer_(observer),
      options_(options) {}

Status Driver::apply(std::vector<Event> events) {
  events_ = std::move(events);
  if (!journal_and_step()) return store_errors_;
  return Done{};
}

void Driver::put_in_order() {
  // Observed time never steps back, not even where a world's clock or a new leader's does.
  Instant last = controller_.state().now;
  for (Event& event : events_) {
    event.at = std::max(event.at, last);
    event.occurred_at = std::min(event.occurred_at, event.at);
    last = event.at;
  }
  const auto before = [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : order_of(a.body) < order_of(b.body);
  };
  // Most batches are in order already, and a look is cheaper than the sort's buffer.
  if (!std::is_sorted(events_.begin(), events_.end(), before))
    std::stable_sort(events_.begin(), events_.end(), before);
}

// Appends the batch once, steps all of it, then releases what may go out.
bool Driver::journal_and_step() {
  put_in_order();
  bytes_.clear();
  records_.clear();
  ends_.clear();
  for (const Event& event : events_) {
    encode(event, bytes_);
    ends_.push_back(bytes_.size());
  }
  Sequence sequence = controller_.state().sequence;
  Digest chain = chain_;
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    sequence = sequence.next();
    const std::span<const std::byte> bytes = bytes_.bytes().subspan(begin, end - begin);
    Digester digester(chain);
    digester.update(bytes);
    chain = digester.finish();
    records_.push_back({sequence, chain, bytes});
    begin = end;
  }
  if (const Status appended = store_.append(records_); !appended) {
    store_errors_ = appended.errors();
    return false;
  }
  chain_ = chain;
  for (const Event& event : events_) {
    commands_.clear();
    controller_.step(event, commands_);
    const State& state = controller_.state();
    std::uint32_t index = 0;
    orders_ += commands_.orders.size();
    for (CommandBody& body : commands_.orders)
      outbox_.push_back({state.sequence, index++, state.epoch, std::move(body)});
    if (observer_ != nullptr) {
      observer_->on_event(state.sequence, event);
      if (!commands_.notices.empty()) observer_->on_notices(commands_.notices, state);
    }
  }
  events_.clear();
  return release_orders() && take_snapshot();
}

// An order promises something outside, so its record must be durable first.
bool Driver::release_orders() {
  if (outbox_.empty()) return true;
  if (store_.durable() < outbox_.back().sequence) {
    if (const Status synced = store_.sync(); !synced) {
      store_errors_ = synced.errors();
      return false;
    }
  }
  for (const Command& order : outbox_) world_.issue(order);
  outbox_.clear();
  return true;
}

bool Driver::take_snapshot() {
  const std::uint64_t now = controller_.state().sequence.value;
  if (options_.snapshot_every == 0 || now - last_snapshot_ < options_.snapshot_every) return true;
  last_snapshot_ = now;
  ByteWriter bytes;
  controller_.state().save(bytes);
  StoredSnapshot snapshot{controller_.state().sequence, chain_, kRecordVersion, {}};
  snapshot.bytes.assign(bytes.bytes().begin(), bytes.bytes().end());
  if (const Status saved = store_.save_snapshot(snapshot); !saved) {
    store_errors_ = saved.errors();
    return false;
  }
  return true;
}

// Asks for a plan where one is due, and folds an answer that is there. False: nothing to do.
bool Driver::plan() {
  if (!planner_.is_busy()) {
    if (const std::optional<PlanRequest> request = controller_.take_plan_request()) {
      ++plans_asked_;
      planner_.ask(*request, controller_);
    }
  }
  std::optional<PlanProposed> answer = planner_.take(world_.now());
  if (!answer) return false;
  const Instant now = world_.now();
  events_.push_back({now, now, Origin::Reaction, std::move(*answer)});
  return true;
}

// Waits for what comes next, at most until `until`. `more`: the world has something to tell yet.
bool Driver::wait(Instant until, bool more) {
  const Instant deadline = std::min(controller_.next_deadline(), planner_.ready_at());
  if (!more && deadline.is_never() && !planner_.is_busy()) return false;
  if (deadline >= until && world_.now() >= until) return false;
  // A policy may change its mind after some cycles, but not for ever after.
  const bool idle = !more && !planner_.is_busy() && controller_.only_cycles_left();
  quiet_cycles_ = idle && orders_ == orders_seen_ ? quiet_cycles_ + 1 : 0;
  orders_seen_ = orders_;
  if (quiet_cycles_ > options_.quiet_cycles_max) return false;
  (void)world_.wait_events(std::min(deadline, until), events_);
  return true;
}

RunEnd Driver::run(Instant until) {
  Instant last = world_.now();
  std::uint64_t turns_here = 0;
  quiet_cycles_ = 0;
  while (true) {
    // All facts of this instant first; then timers that are due; plans last.
    const bool more = world_.wait_events(world_.now(), events_);
    if (events_.empty() && controller_.next_deadline() <= world_.now())
      events_.push_back({world_.now(), world_.now(), Origin::Reaction, TimeReached{}});
    if (events_.empty() && !plan() && !wait(until, more)) return RunEnd::Finished;
    if (!events_.empty() && !journal_and_step()) return RunEnd::StoreFailed;
    if (observer_ != nullptr && observer_->should_stop()) return RunEnd::Stopped;
    if (world_.now() != last) {
      last = world_.now();
      turns_here = 0;
    } else if (++turns_here > options_.idle_turns_max + controller_.state().next_job().value) {
      return RunEnd::NoProgress;
    }
    if (world_.now() > until) return RunEnd::Finished;
  }
}

}  // namespace orrery
