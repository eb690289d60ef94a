#include "sim/fabric/shared_fabric.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::sim {

SharedFabric::SharedFabric(Topology topology)
    : topology_(std::move(topology)), loads_(topology_), links_(topology_.link_count()) {}

double SharedFabric::transfer_s(std::uint32_t link, double bytes) const {
  return bytes / (topology_.bandwidth(link) * links_[link].share);
}

double SharedFabric::step_alone_s(const Stage& stage) const {
  double transfer = 0;
  for (const LinkLoad& load : loads_.of(stage))
    transfer = std::max(transfer, transfer_s(load.link, load.bytes));
  transfer = std::max(transfer, loads_.limit_s());
  return step_with_exchange_s(stage, transfer + loads_.latency_s());
}

void SharedFabric::time_alone(Running& running) const {
  double transfer = 0;
  for (const Use& use : running.uses)
    transfer = std::max(transfer, transfer_s(use.link, use.bytes));
  running.exchange_s = std::max(transfer, running.limit_s) + running.latency_s;
  running.step_s = step_with_exchange_s(running.shape, running.exchange_s);
}

StageId SharedFabric::begin(const Stage& stage, Instant now) {
  advance(now);
  const std::uint32_t slot = running_.take();
  Running& running = running_[slot];
  std::vector<Use> uses = std::move(running.uses);
  running = Running{};
  running.uses = std::move(uses);
  for (const LinkLoad& load : loads_.of(stage))
    running.uses.push_back({load.link, 0, load.flows, load.bytes});
  running.latency_s = loads_.latency_s();
  running.limit_s = loads_.limit_s();
  running.shape.compute_s = stage.compute_s;
  running.shape.local_exchange_s = stage.local_exchange_s;
  running.shape.overlap = stage.overlap;
  running.shape.steps = stage.steps;
  time_alone(running);
  running.part = stage.paced ? Part::Paced : running.uses.empty() ? Part::Rest : Part::Bytes;
  running.begun = running.since = now;
  running.order = begun_++;
  const bool bytes = running.part == Part::Bytes;
  running.total = running.left = (bytes ? running.exchange_s : running.step_s) * stage.steps;
  heap_.set(slot, now + Duration::from_seconds(running.left), running.order);
  join(slot);
  return {slot};
}

// Asks each link for the bytes of a step within the time of it, or of its exchange.
void SharedFabric::join(std::uint32_t slot) {
  Running& running = running_[slot];
  if (running.uses.empty()) return;
  const double within_s = running.part == Part::Bytes ? running.exchange_s : running.step_s;
  for (std::uint32_t i = 0; i < running.uses.size(); ++i) {
    Use& use = running.uses[i];
    Link& link = links_[use.link];
    const double share = use.bytes / within_s / topology_.bandwidth(use.link);
    // Down, so that rounding never makes a stage that is alone ask for more than there is.
    const auto units = static_cast<std::int64_t>(share * static_cast<double>(kWholeLink));
    use.place = static_cast<std::uint32_t>(link.members.size());
    link.demands.push_back({units, use.flows});
    link.members.push_back({slot, i});
    link.asked += units;
    mark(use.link);
  }
  running.whole = true;
  touch(slot);
}

void SharedFabric::leave(std::uint32_t slot) {
  for (const Use& use : running_[slot].uses) {
    Link& link = links_[use.link];
    link.asked -= link.demands[use.place].units;
    const Member last = link.members.back();
    link.demands[use.place] = link.demands.back();
    link.members[use.place] = last;
    running_[last.slot].uses[last.use].place = use.place;
    link.demands.pop_back();
    link.members.pop_back();
    mark(use.link);
  }
}

// Its links are faster or slower than before: its step alone is another, and what it asks for.
void SharedFabric::rework(std::uint32_t slot) {
  Running& running = running_[slot];
  const double left = left_at(slot, clock_);
  leave(slot);
  const double& alone = running.part == Part::Bytes ? running.exchange_s : running.step_s;
  const double before = alone;
  time_alone(running);
  running.left = left * (alone / before);
  running.total *= alone / before;
  running.since = clock_;
  running.slowed = true;
  const Duration rest = Duration::from_seconds(running.left / running.speed);
  heap_.set(slot, clock_ + rest, running.order);
  join(slot);
}

void SharedFabric::release(std::uint32_t slot) {
  leave(slot);
  running_[slot].uses.clear();
  heap_.remove(slot);
  running_.give_back(slot);
}

void SharedFabric::mark(std::uint32_t link) {
  if (std::exchange(links_[link].dirty, true)) return;
  dirty_.push_back(link);
}

void SharedFabric::touch(std::uint32_t slot) {
  if (std::exchange(running_[slot].touched, true)) return;
  touched_.push_back(slot);
}

double SharedFabric::left_at(std::uint32_t slot, Instant now) const {
  const Running& running = running_[slot];
  if (now >= heap_.at(slot)) return 0;
  return std::max(0.0, running.left - running.speed * (now - running.since).in_seconds());
}

// Lets the clock run to `now`. Changes of one instant are settled together, when time goes on.
void SharedFabric::advance(Instant now) {
  invariant(now >= clock_, "a fabric's clock never steps back");
  if (now == clock_) return;
  while (true) {
    settle_changes();
    if (heap_.empty() || heap_.top().at > now) break;
    const std::uint32_t slot = heap_.top().slot;
    if (running_[slot].part != Part::Bytes) break;  // Complete: `pass_to` hands it out.
    clock_ = std::max(clock_, heap_.top().at);
    bytes_are_through(slot);
  }
  clock_ = now;
}

void SharedFabric::settle_changes() {
  if (dirty_.empty() && touched_.empty()) return;
  for (const std::uint32_t link : dirty_) settle_link(link);
  dirty_.clear();
  for (const std::uint32_t slot : touched_) settle_stage(slot);
  touched_.clear();
}

void SharedFabric::settle_link(std::uint32_t index) {
  Link& link = links_[index];
  link.dirty = false;
  const double level = link.asked <= link.capacity ? kAll : fair_level(link.demands, link.capacity);
  if (level == link.level) return;
  link.level = level;
  for (std::size_t i = 0; i < link.members.size(); ++i) {
    const std::uint32_t slot = link.members[i].slot;
    Running& running = running_[slot];
    const double share = share_at(level, link.demands[i]);
    if (share < running.wanted) {
      running.wanted = share;
      running.tightest = index;
      touch(slot);
    } else if (share > running.wanted && running.tightest == index) {
      running.whole = true;
      touch(slot);
    }
  }
}

void SharedFabric::settle_stage(std::uint32_t slot) {
  Running& running = running_[slot];
  running.touched = false;
  if (std::exchange(running.whole, false)) {
    running.wanted = 1;
    running.tightest = kNoLink;
    for (const Use& use : running.uses) {
      const Link& link = links_[use.link];
      if (link.level == kAll) continue;
      const double share = share_at(link.level, link.demands[use.place]);
      if (share >= running.wanted) continue;
      running.wanted = share;
      running.tightest = use.link;
    }
  }
  // Without links it has ended meanwhile, or its bytes are through.
  if (running.uses.empty() || running.wanted == running.speed) return;
  ++rerated_;
  running.left = left_at(slot, clock_);
  running.since = clock_;
  running.speed = running.wanted;
  running.slowed = true;
  const Duration rest = Duration::from_seconds(running.left / running.speed);
  heap_.set(slot, clock_ + rest, running.order);
}

// The exchange took so long; compute that did not hide it follows.
void SharedFabric::bytes_are_through(std::uint32_t slot) {
  leave(slot);
  Running& running = running_[slot];
  running.uses.clear();
  const Stage& shape = running.shape;
  double whole_s = running.step_s * shape.steps;
  if (running.slowed) {
    const double exchange_s =
        shape.local_exchange_s * shape.steps + (clock_ - running.begun).in_seconds();
    whole_s = step_seconds(shape.compute_s * shape.steps, exchange_s, shape.overlap);
  }
  const Instant at = std::max(clock_, running.begun + Duration::from_seconds(whole_s));
  running.part = Part::Rest;
  running.speed = running.wanted = 1;
  running.tightest = kNoLink;
  running.since = clock_;
  running.total = running.left = (at - clock_).in_seconds();
  heap_.set(slot, at, running.order);
}

double SharedFabric::steps_done(StageId id, Instant now) {
  advance(now);
  const Running& running = running_[id.value];
  const double left = left_at(id.value, now);
  const double done = running.total > 0 ? 1 - left / running.total : 1;
  if (running.part == Part::Paced) return running.shape.steps * done;
  // Bytes and rest count by the time that they take alone.
  const double bytes = running.step_s > 0 ? running.exchange_s / running.step_s : 0;
  const double share = running.part == Part::Bytes ? bytes * done : bytes + (1 - bytes) * done;
  return running.shape.steps * std::min(1.0, share);
}

double SharedFabric::pace(StageId id) {
  settle_changes();
  const Running& running = running_[id.value];
  return running.speed / running.step_s;
}

void SharedFabric::end(StageId id, Instant now) {
  advance(now);
  release(id.value);
}

Instant SharedFabric::next(Instant limit) {
  settle_changes();
  while (!heap_.empty() && heap_.top().at <= limit) {
    const std::uint32_t slot = heap_.top().slot;
    if (running_[slot].part != Part::Bytes) return heap_.top().at;
    clock_ = std::max(clock_, heap_.top().at);
    bytes_are_through(slot);
    settle_changes();
  }
  return limit;
}

void SharedFabric::pass_to(Instant now, std::vector<StageId>& complete) {
  advance(now);
  while (true) {
    settle_changes();
    if (heap_.empty() || heap_.top().at > now) return;
    // All of this instant at once: the stages that use what they leave are updated once, after
    // them.
    do {
      const std::uint32_t slot = heap_.top().slot;
      if (running_[slot].part == Part::Bytes) {
        bytes_are_through(slot);
      } else {
        complete.push_back({slot});
        release(slot);
      }
    } while (!heap_.empty() && heap_.top().at <= now);
  }
}

void SharedFabric::set_link_share(NodeId node, double share, Instant now) {
  invariant(share > 0 && share <= 1, "a link keeps a share above 0 and at most 1");
  advance(now);
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t index : topology_.links_of(node)) {
    Link& link = links_[index];
    if (link.share == share) continue;
    link.share = share;
    // Up, so that rounding leaves room for a stage that is alone.
    link.capacity = share < 1 ? static_cast<std::int64_t>(share * kWholeLink) + 2 : kWholeLink;
    mark(index);
    for (const Member& member : link.members) slots.push_back(member.slot);
  }
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  for (const std::uint32_t slot : slots) rework(slot);
}

void SharedFabric::link_use(std::vector<double>& shares) const {
  shares.assign(links_.size(), 0.0);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    for (std::size_t k = 0; k < link.members.size(); ++k)
      shares[i] +=
          static_cast<double>(link.demands[k].units) * running_[link.members[k].slot].speed;
    shares[i] = std::min(1.0, shares[i] / static_cast<double>(kWholeLink));
  }
}

std::vector<std::string> SharedFabric::approximations() const {
  return {
      "Links are shared by demand (L1): all flows of a stage slow down together, and what a stage "
      "leaves of a link because another is tighter is not used."};
}

}  // namespace orrery::sim
