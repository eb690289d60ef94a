#include "sim/simgrid/message_fabric.hpp"

#include <algorithm>
#include <limits>

#include "core/base/invariant.hpp"

namespace orrery::sim {
namespace {

constexpr double kNeverDue = std::numeric_limits<double>::infinity();

// A communication's tag tells its stage and its message.
std::uint64_t tag_of(std::uint32_t stage, std::uint32_t message) {
  return (std::uint64_t{stage} + 1) << 32 | message;
}

}  // namespace

MessageFabric::MessageFabric(MessageClock& clock, const Platform& platform, Settings settings)
    : clock_(clock),
      platform_(platform),
      settings_(settings),
      node_shares_(platform.node_count(), 1.0) {
  for (const simgrid::s4u::Link* link : platform.links())
    bandwidths_.push_back(link->get_bandwidth());
  clock_.add(*this);
}

MessageFabric::~MessageFabric() {
  for (std::uint32_t stage = 0; stage < running_.size(); ++stage)
    if (running_[stage].live) release(stage);
  clock_.remove(*this);
}

// --- the interface ---

StageId MessageFabric::begin(const Stage& stage, Instant now) {
  clock_.catch_up(now);
  const std::uint32_t number = running_.take();
  Running& running = running_[number];
  running.live = true;
  running.stage = stage;
  running.plan = plan(stage);
  running.comms.assign(running.plan.messages.size(), nullptr);
  running.exchange_s = exchange_alone_s(running.plan, 1);
  running.alone_s = alone_s(stage, running.plan);
  running.whole = 0;
  running.last_step_s = 0;
  begin_step(number);
  return StageId{number};
}

double MessageFabric::steps_done(StageId id, Instant now) {
  const Running& running = running_[id.value];
  invariant(running.live, "a stage under way is asked for its progress");
  if (std::find(complete_.begin(), complete_.end(), id) != complete_.end())
    return running.stage.steps;
  const double elapsed_s = std::max(0.0, now.in_seconds() - running.begun_s);
  const double compute_s = running.stage.compute_s * running.size;
  const double exchange_s = running.exchange_s * running.size;
  double share = 0;
  if (running.plan.messages.empty()) {
    const double whole_s = running.alone_s * running.size;
    share = whole_s > 0 ? elapsed_s / whole_s : 0;
  } else {
    const double part = part_share(running);
    const double before = running.part == Part::Open ? 1 - part : 0;
    const double arrived = 1 - running.missing / static_cast<double>(running.plan.messages.size());
    const double computed_s = running.computed ? compute_s : std::min(compute_s, elapsed_s);
    const double exchanged_s = exchange_s * (before + part * arrived);
    share = (computed_s + exchanged_s) / (compute_s + exchange_s);
  }
  return std::min(running.stage.steps, running.whole + running.size * std::min(share, 1.0));
}

double MessageFabric::pace(StageId id) {
  const Running& running = running_[id.value];
  const double step_s = running.last_step_s > 0 ? running.last_step_s : running.alone_s;
  return step_s > 0 ? 1 / step_s : 0;
}

void MessageFabric::end(StageId id, Instant now) {
  invariant(running_[id.value].live, "a stage under way is ended");
  clock_.catch_up(now);
  std::erase(complete_, id);
  release(id.value);
}

void MessageFabric::pass_to(Instant, std::vector<StageId>& complete) {
  for (const StageId id : complete_) {
    complete.push_back(id);
    release(id.value);
  }
  complete_.clear();
}

void MessageFabric::release(std::uint32_t stage) {
  Running& running = running_[stage];
  for (simgrid::s4u::CommPtr& comm : running.comms) {
    if (comm == nullptr) continue;
    clock_.engine().cancel(std::move(comm));
    comm = nullptr;
    --under_way_;
  }
  running.comms.clear();
  running.plan = MessagePlan{};
  running.live = false;
  ++running.birth;
  running_.give_back(stage);
}

// --- steps ---

double MessageFabric::part_share(const Running& running) const {
  const double hidden = running.stage.paced ? running.stage.overlap : 1;
  return running.part == Part::Hidden ? hidden : 1 - hidden;
}

void MessageFabric::begin_step(std::uint32_t number) {
  Running& running = running_[number];
  const Stage& stage = running.stage;
  running.begun_s = clock_.now_s();
  running.part = Part::Hidden;
  const bool alike = !stage.paced || running.plan.messages.empty();
  running.size = alike ? stage.steps : std::min(1.0, stage.steps - running.whole);
  if (running.plan.messages.empty()) {
    running.missing = 0;
    running.computed = running.exchanged = false;
    return set_timer(number, TimerKind::Whole, running.begun_s + running.alone_s * running.size);
  }
  running.computed = !stage.paced;
  if (stage.paced)
    set_timer(number, TimerKind::Compute, running.begun_s + stage.compute_s * running.size);
  begin_part(number, Part::Hidden);
}

void MessageFabric::begin_part(std::uint32_t number, Part part) {
  Running& running = running_[number];
  running.part = part;
  running.exchanged = false;
  running.missing = static_cast<std::uint32_t>(running.plan.messages.size());
  const double share = part_share(running);
  if (share <= 0) {
    running.missing = 0;
    running.exchanged = true;
    return go_on(number);
  }
  const double local_s = running.stage.local_exchange_s * running.size * share;
  if (local_s > 0 && running.stage.paced)
    return set_timer(number, TimerKind::Local, clock_.now_s() + local_s);
  send_first(number);
}

void MessageFabric::send_first(std::uint32_t number) {
  Running& running = running_[number];
  const auto& messages = running.plan.messages;
  running.waits.resize(messages.size());
  for (std::size_t m = 0; m < messages.size(); ++m) running.waits[m] = messages[m].waits_for;
  for (std::uint32_t m = 0; m < messages.size(); ++m)
    if (messages[m].waits_for == 0) send(number, m);
}

// What has no way to travel is there at once.
void MessageFabric::send(std::uint32_t number, std::uint32_t m) {
  Running& running = running_[number];
  const PlannedMessage& message = running.plan.messages[m];
  ++sent_;
  const bool stored = message.from.is_none() || message.to.is_none();
  Platform::Route route;
  if (travels(message)) platform_.find_route(message.from, message.to, route);
  if (route.links.empty()) return arrive(number, m);
  const double bound =
      stored && platform_.storage_rate_max() > 0 ? platform_.storage_rate_max() : kNeverDue;
  running.comms[m] = clock_.engine()
                         .start(platform_.host(message.from),
                                platform_.host(message.to),
                                message.bytes * running.size * part_share(running),
                                bound,
                                tag_of(number, m))
                         .comm;
  ++under_way_;
}

void MessageFabric::arrive(std::uint32_t number, std::uint32_t m) {
  Running& running = running_[number];
  if (running.comms[m] != nullptr) {
    running.comms[m] = nullptr;
    --under_way_;
  }
  --running.missing;
  const PlannedMessage& message = running.plan.messages[m];
  for (std::uint32_t t = message.then; t < message.then_end; ++t) {
    const std::uint32_t next = running.plan.then[t];
    if (--running.waits[next] == 0) send(number, next);
  }
  if (running.missing == 0 && !running.exchanged) {
    running.exchanged = true;
    go_on(number);
  }
}

// A part of the exchange is through, or the compute.
void MessageFabric::go_on(std::uint32_t number) {
  Running& running = running_[number];
  if (!running.exchanged || !running.computed) return;
  if (!running.stage.paced) {
    const Stage& stage = running.stage;
    const double sent_s = clock_.now_s() - running.begun_s;
    const double step_s = step_seconds(stage.compute_s * stage.steps,
                                       stage.local_exchange_s * stage.steps + sent_s,
                                       stage.overlap);
    running.computed = false;
    return set_timer(number, TimerKind::Whole, running.begun_s + step_s);
  }
  if (running.part == Part::Hidden) return begin_part(number, Part::Open);
  finish_step(number);
}

void MessageFabric::finish_step(std::uint32_t number) {
  Running& running = running_[number];
  running.last_step_s = (clock_.now_s() - running.begun_s) / running.size;
  running.whole += running.size;
  if (running.whole < running.stage.steps * (1 - 1e-12)) return begin_step(number);
  complete_.push_back(StageId{number});
}

// --- time ---

bool MessageFabric::is_later(const Timer& a, const Timer& b) {
  return a.at_s != b.at_s ? a.at_s > b.at_s : a.order > b.order;
}

void MessageFabric::set_timer(std::uint32_t stage, TimerKind kind, double at_s) {
  timers_.push_back({at_s, timers_set_++, kind, stage, running_[stage].birth});
  std::push_heap(timers_.begin(), timers_.end(), is_later);
}

double MessageFabric::wake_s() const { return timers_.empty() ? kNeverDue : timers_.front().at_s; }

void MessageFabric::wake(double now_s) {
  auto& ended = clock_.engine().ended();
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const auto stage = static_cast<std::uint32_t>((ended[i].tag >> 32) - 1);
    invariant(ended[i].whole, "hosts and links stay on, so every message arrives");
    if (running_[stage].live) arrive(stage, static_cast<std::uint32_t>(ended[i].tag));
  }
  ended.clear();
  while (!timers_.empty() && is_reached(timers_.front().at_s, now_s)) {
    const Timer timer = timers_.front();
    std::pop_heap(timers_.begin(), timers_.end(), is_later);
    timers_.pop_back();
    Running& running = running_[timer.stage];
    if (!running.live || running.birth != timer.birth) continue;
    if (timer.kind == TimerKind::Compute) {
      running.computed = true;
      go_on(timer.stage);
    } else if (timer.kind == TimerKind::Local) {
      send_first(timer.stage);
    } else {
      finish_step(timer.stage);
    }
  }
}

}  // namespace orrery::sim
