#include "core/driver/driver.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/base/planted.hpp"
#include "core/record/codec.hpp"

namespace orrery {
namespace {

// Facts of one instant are stepped in this order, whatever order the world noticed them in:
// what became of workers and nodes, requests and submissions, timers, plans. Facts of workers and
// nodes keep the world's own order: a device is lost before the exits that it causes, and a node
// that returns says then what it still lacks.
int order_of(const EventBody& body) {
  return std::visit(
      [](const auto& event) {
        using T = std::decay_t<decltype(event)>;
        if constexpr (std::is_same_v<T, WorkersChanged> || std::is_same_v<T, ProgressReported> ||
                      std::is_same_v<T, ProfilingChanged> || std::is_same_v<T, SubMasterSaid> ||
                      std::is_same_v<T, WorkerSuspected> || std::is_same_v<T, NodeSilent> ||
                      std::is_same_v<T, NodeReturned> || std::is_same_v<T, NodesRelaunched> ||
                      std::is_same_v<T, NodeLeaving> || std::is_same_v<T, DevicesLost> ||
                      std::is_same_v<T, FailureExplained> || std::is_same_v<T, NodeHeld>)
          return 0;
        else if constexpr (std::is_same_v<T, TimeReached>)
          return 2;
        else if constexpr (std::is_same_v<T, PlanProposed> || std::is_same_v<T, PlanLost>)
          return 3;
        else
          return 1;
      },
      body);
}

// A longer batch would push the first out of the cache before it is stepped.
constexpr std::size_t kExpectedMax = 32;

// Issued orders that may stand before those kept back until they are dropped together.
constexpr std::size_t kIssuedKept = 4096;

// The worker that an order to start brings up; null where the job has it no more.
const Worker* worker_of(const StartWorkers& order, const WorkerStart& start, const JobState& job) {
  const auto is_it = [&](const Worker& worker) {
    return worker.incarnation == start.incarnation && worker.birth_rank == start.rank &&
           worker.born == order.generation;
  };
  const std::size_t rank = start.rank.index();
  // Nearly always its present rank still.
  if (rank < job.workers.size() && is_it(job.workers[rank])) return &job.workers[rank];
  const auto found = std::find_if(job.workers.begin(), job.workers.end(), is_it);
  return found == job.workers.end() ? nullptr : &*found;
}

// The workers that an order to start brings up; none for other orders.
std::pair<JobId, Incarnation> started_by(const Command& order) {
  const auto* start = std::get_if<StartWorkers>(&order.body);
  if (start == nullptr || start->workers.empty()) return {JobId::none(), {}};
  return {start->job, start->workers.front().incarnation};
}

// An order to start may have been overtaken while its record became durable: its node was lost, or
// the job ended. Workers that are not to start any more are left out, and those of them whose ends
// are waited for go to `awaited`; false where none is left.
bool is_still_meant(Command& order, const State& state, StartWorkers& awaited) {
  auto* start = std::get_if<StartWorkers>(&order.body);
  if (start == nullptr || order.sequence == state.sequence) return true;
  const JobState* job = state.find(start->job);
  if (job == nullptr) return false;
  // A node that is silent by now would start it at its return, whatever has become of the job.
  std::erase_if(start->workers, [&](const WorkerStart& each) {
    const Worker* worker = worker_of(*start, each, *job);
    if (worker != nullptr && worker->state == WorkerState::Draining)
      awaited.workers.push_back(each);
    return state.nodes[each.node.index()].silent || worker == nullptr ||
           worker->state != WorkerState::Starting;
  });
  awaited.job = start->job;
  awaited.generation = start->generation;
  return !start->workers.empty();
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
  const bool expected = events_.size() <= kExpectedMax;
  if (expected)
    for (const Event& event : events_) controller_.expect(event);
  encode_batch();  // Takes about as long as memory does.
  if (expected)
    for (const Event& event : events_) {
      controller_.expect_parts(event);
      if (observer_ != nullptr) observer_->expect(event);
    }
  if (!append()) return false;
  if (planted(Bug::SnapshotBehind) && !take_snapshot()) return false;
  std::size_t record = 0;
  for (const Event& event : events_) {
    commands_.clear();
    if (observer_ != nullptr && event.at > controller_.state().now)
      observer_->on_instant_over(controller_.state());
    controller_.step(event, commands_);
    planner_.stepped(records_[record++].bytes);
    const State& state = controller_.state();
    if (options_.fingerprints_orders) {
      if (const auto* begun = std::get_if<EpochStarted>(&event.body))
        term_orders_.begin(begun->epoch, state.sequence);
      term_orders_.stepped(state.sequence, commands_.orders);
    }
    std::uint32_t index = 0;
    orders_ += commands_.orders.size();
    Epoch epoch = state.epoch;
    if (planted(Bug::OrdersOutOfEpoch) && epoch.value > 1) --epoch.value;
    for (CommandBody& body : commands_.orders)
      outbox_.push_back({state.sequence, index++, epoch, std::move(body)});
    if (observer_ != nullptr) {
      observer_->on_event(state.sequence, event);
      if (!commands_.notices.empty()) observer_->on_notices(commands_.notices, state);
    }
  }
  events_.clear();
  return release_orders() && take_snapshot();
}

void Driver::encode_batch() {
  bytes_.clear();
  ends_.clear();
  for (const Event& event : events_) {
    if (const auto* begun = std::get_if<EpochStarted>(&event.body))
      writer_ = std::max(writer_, begun->epoch);
    if (options_.journals) encode(event, bytes_);
    ends_.push_back(bytes_.size());
  }
}

// Chains the digests of the encoded batch and appends it: all of it or nothing.
bool Driver::append() {
  records_.clear();
  Sequence sequence = controller_.state().sequence;
  Digest chain = chain_;
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    sequence = sequence.next();
    const std::span<const std::byte> bytes = bytes_.bytes().subspan(begin, end - begin);
    if (options_.journals) {
      Digester digester(chain);
      digester.update(bytes);
      chain = digester.finish();
    }
    records_.push_back({sequence, chain, bytes});
    begin = end;
  }
  if (refused(store_.append(writer_, records_))) return false;
  if (!planted(Bug::ChainNotContinued)) chain_ = chain;
  return true;
}

bool Driver::refused(const Status& status) {
  if (status) return false;
  store_errors_ = status.errors();
  return true;
}

RunEnd Driver::refusal() const {
  const bool deposed =
      std::any_of(store_errors_.begin(), store_errors_.end(), [](const Error& error) {
        return error.code == ErrorCode::Conflict;
      });
  return deposed ? RunEnd::Deposed : RunEnd::StoreFailed;
}

// An order promises something outside, so its record must be durable first.
bool Driver::release_orders() {
  if (outbox_.empty()) return true;
  const bool durable =
      store_.durable() >= outbox_.back().sequence || planted(Bug::ActBeforeDurable);
  if (!durable && refused(store_.sync())) return false;
  issue_durable();
  return true;
}

// A store that is not done yet keeps the rest back, in order, for a later turn.
void Driver::issue_durable() {
  Sequence durable = store_.durable();
  if (planted(Bug::ActBeforeDurable)) durable = controller_.state().sequence;
  while (issued_ < outbox_.size() && outbox_[issued_].sequence <= durable) {
    // Counted before it is out: an order is never issued twice by one leader.
    Command& order = outbox_[issued_++];
    const auto [job, incarnation] = started_by(order);
    StartWorkers awaited;
    if (is_still_meant(order, controller_.state(), awaited))
      world_.issue(order);
    else
      world_.withheld(job, incarnation);
    if (!awaited.workers.empty()) world_.never_started(awaited);
  }
  if (issued_ < outbox_.size()) reached(Mark::OrdersKeptBack);
  if (issued_ < outbox_.size() && issued_ < kIssuedKept) return;
  outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<std::ptrdiff_t>(issued_));
  issued_ = 0;
}

// After the batch at hand was stepped.
bool Driver::take_snapshot() {
  const Sequence now = records_.back().sequence;
  const std::uint64_t every = options_.snapshot_every;
  if (every == 0 || now.value - last_snapshot_ < every) return true;
  last_snapshot_ = now.value;
  reached(Mark::SnapshotTaken);
  ByteWriter bytes;
  controller_.state().save(bytes);
  StoredSnapshot snapshot{now, chain_, kRecordVersion, {}};
  snapshot.bytes.assign(bytes.bytes().begin(), bytes.bytes().end());
  return !refused(store_.save_snapshot(snapshot));
}

void Driver::save(ByteWriter& out) const {
  Encoder encoder(out);
  encoder.put(writer_);
  encoder.put(last_snapshot_);
  encoder.put(crowded_since_);
  out.varint(plans_lost_);
  encoder.put(asks_again_at_);
  out.varint(orders_kept_back());
  for (std::size_t i = issued_; i < outbox_.size(); ++i) encoder.put(outbox_[i]);
  out.varint(events_.size());
  for (const Event& event : events_) encode(event, out);
}

// Asks for a plan where one is due, and takes an answer that is there.
void Driver::plan() {
  if (!planner_.is_busy() && world_.now() >= asks_again_at_) {
    if (const std::optional<PlanRequest> request = controller_.take_plan_request()) {
      ++plans_asked_;
      asked_at_ = controller_.state().sequence;
      planner_.ask(*request, controller_);
    }
  }
  if (std::optional<PlanAnswer> answer = planner_.take(world_.now())) {
    const auto* made = std::get_if<PlanProposed>(&*answer);
    // What was recorded while it planned it has not seen.
    if (made != nullptr && made->trigger == PlanTrigger::Period && made->plan.empty() &&
        asked_at_ == controller_.state().sequence && planner_.is_settled())
      settled_at_ = controller_.state().sequence.next();
    answered(std::move(*answer), world_.now());
  }
}

// A policy that gives no plan time after time is asked less and less often, but always again.
void Driver::answered(PlanAnswer answer, Instant now) {
  if (std::holds_alternative<PlanLost>(answer)) {
    const std::int64_t doubled = options_.lost_plan_pause.ns << std::min(plans_lost_, 20U);
    ++plans_lost_;
    asks_again_at_ = now + std::min(Duration{doubled}, options_.lost_plan_pause_max);
  } else {
    plans_lost_ = 0;
  }
  std::visit(
      [&](auto& body) {
        events_.push_back({now, now, Origin::Reaction, std::move(body)});
      },
      answer);
}

Instant Driver::next_wake() {
  Instant wake = std::min(controller_.next_deadline(), planner_.ready_at());
  if (asks_again_at_ > world_.now()) wake = std::min(wake, asks_again_at_);
  return outbox_.empty() ? wake : std::min(wake, store_.next_durable());
}

// The next deadline that may bring anything about. Cycles that come before it and would be in vain,
// for which the policy is settled and no record came since, are passed over: all but the last one,
// after which the policy has seen the time.
Instant Driver::after_vain_cycles(Instant until) {
  const Instant next = next_wake();
  const State& state = controller_.state();
  if (observer_ == nullptr || settled_at_ != state.sequence || next.is_never() ||
      next != state.next_cycle())
    return next;
  const Instant quiet = std::min({world_.quiet_until(), controller_.next_timer(), until});
  const std::int64_t period = state.settings.plan_period.ns;
  const std::int64_t cycles = (quiet.ns - 1 - next.ns) / period;
  if (cycles <= 0) return next;
  const std::uint64_t passed = observer_->pass_over(static_cast<std::uint64_t>(cycles));
  return next + Duration{period * static_cast<std::int64_t>(passed)};
}

// Waits for what comes next, at most until `until`. `more`: the world has something to tell yet.
bool Driver::wait(Instant until, bool more) {
  const bool answers_due = planner_.is_busy() || !outbox_.empty();
  const Instant deadline = more && !answers_due ? after_vain_cycles(until) : next_wake();
  if (!more && deadline.is_never() && !answers_due) return false;
  if (deadline >= until && world_.now() >= until) return false;
  // A policy may change its mind after some cycles, but not for ever after.
  const bool idle = !more && !answers_due && controller_.only_cycles_left();
  quiet_cycles_ = idle && orders_ == orders_seen_ ? quiet_cycles_ + 1 : 0;
  orders_seen_ = orders_;
  if (quiet_cycles_ > options_.quiet_cycles_max) return false;
  (void)world_.wait_events(std::min(deadline, until), events_);
  return true;
}

// All facts of this instant first; then timers that are due; plans last. Returns whether the world
// has something to tell yet.
//
// A real clock goes on while facts come, so that a stream of them without a gap would keep all the
// rest waiting: a timer whose instant has passed is stepped behind the facts at hand, and a plan
// that had to wait for longer than an instant has a turn of its own.
bool Driver::gather() {
  if (crowded_since_ < world_.now()) plan();
  if (!events_.empty()) {
    crowded_since_ = Instant::never();
    return true;
  }
  const bool more = world_.wait_events(world_.now(), events_);
  const bool quiet = events_.empty();
  const Instant now = world_.now();
  const Instant deadline = controller_.next_deadline();
  if (deadline < now || (quiet && deadline == now))
    events_.push_back({now, now, Origin::Reaction, TimeReached{}});
  if (events_.empty()) plan();
  crowded_since_ = quiet ? Instant::never() : std::min(crowded_since_, now);
  return more;
}

Turn Driver::work() {
  if (!events_.empty()) return journal_and_step() ? Turn::Worked : Turn::Refused;
  const std::size_t kept_back = orders_kept_back();
  if (!release_orders()) return Turn::Refused;
  return orders_kept_back() < kept_back ? Turn::Worked : Turn::Idle;
}

Turn Driver::turn() {
  (void)gather();
  return work();
}

RunEnd Driver::run(Instant until) {
  Instant last = world_.now();
  std::uint64_t turns_here = 0;
  quiet_cycles_ = 0;
  while (true) {
    const bool more = gather();
    if (events_.empty() && !wait(until, more)) return RunEnd::Finished;
    if (work() == Turn::Refused) return refusal();
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
