#include "core/state/state.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"
#include "core/base/prefetch.hpp"
#include "core/record/codec.hpp"

namespace orrery {

State::State() = default;
State::State(const State& other) = default;
State::State(State&& other) noexcept = default;
State& State::operator=(const State& other) = default;
State& State::operator=(State&& other) noexcept = default;
State::~State() = default;

JobState& State::add_job(std::shared_ptr<const JobSpec> spec) {
  const JobId id = next_job();
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(jobs_.size());
    jobs_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slot_of_.push_back(slot);
  JobState& added = jobs_[slot];
  added.row.id = id;
  added.spec = std::move(spec);
  take_name(added);
  // After an idle stretch the cycles in between are not made up for; one of this instant is due.
  if (live_ == 0 && settings.plan_period > Duration::zero())
    last_cycle = std::max(last_cycle, now - Duration{1});
  ++live_;
  return added;
}

JobState* State::find(JobId id) {
  if (id.is_none() || id.index() < first_id_ || id >= next_job()) return nullptr;
  const std::uint32_t slot = slot_of_[id.index() - first_id_];
  return slot == kNoSlot ? nullptr : &jobs_[slot];
}

const JobState* State::find(JobId id) const { return const_cast<State*>(this)->find(id); }

void State::expect(JobId id) const {
  if (const JobState* job = find(id)) prefetch(job);
}

void State::expect_parts(JobId id) const {
  const JobState* job = find(id);
  if (job == nullptr) return;
  prefetch(job->workers.data());
  prefetch(job->conditions.data());
  prefetch(job->elastic_nodes.data());
  prefetch(job->spec.get());
}

void State::expect_leases(JobId id) const {
  constexpr std::size_t kFew = 8;
  const JobState* job = find(id);
  if (job == nullptr) return;
  for (std::size_t i = 0; i < std::min(job->workers.size(), kFew); ++i)
    ledger.expect(job->workers[i].node, job->workers[i].lease);
}

JobId State::named(std::string_view name) const { return named(NameTable::hash_of(name), name); }

JobId State::named(std::uint32_t hash, std::string_view name) const {
  return names_.find(hash, [&](JobId id) { return job(id).spec->name == name; });
}

// The youngest job of a name has it; from there on each knows who had it before.
void State::take_name(JobState& job) {
  job.name_hash = NameTable::hash_of(job.spec->name);
  job.before = named(job.name_hash, job.spec->name);
  if (!job.before.is_none()) names_.erase(job.name_hash, job.before);
  names_.insert(job.name_hash, job.row.id);
}

void State::give_name_up(const JobState& gone) {
  const JobId id = gone.row.id;
  if (names_.erase(gone.name_hash, id)) {
    if (!gone.before.is_none()) names_.insert(gone.name_hash, gone.before);
    return;
  }
  JobState* after = &job(named(gone.name_hash, gone.spec->name));
  while (after->before != id) after = &job(after->before);
  after->before = gone.before;
}

void State::note_final(const JobState& job) {
  --live_;
  if (!job.row.elastic.is_none()) mix_.remove(job.row.demand);
}

void State::retain(const JobState& job) {
  if (!job.deleted) return finished_.push_back({job.row.id, job.finished_at});
  std::erase_if(finished_, [&](const Finished& each) { return each.job == job.row.id; });
  finished_.push_front({job.row.id, job.finished_at, true});
}

JobId State::submitted_by(std::uint64_t request, std::string_view name) const {
  if (request == 0) return JobId::none();
  JobId id = named(name);
  if (settings.rules < 2) return !id.is_none() && job(id).request == request ? id : JobId::none();
  while (!id.is_none() && job(id).request != request) id = job(id).before;
  return id.is_none() ? past_requests_.find(request) : id;
}

void State::retire_old() {
  // Called with every event, and nearly always there is none.
  if (!past_requests_.list().empty()) past_requests_.forget_until(now);
  while (!finished_.empty()) {
    const auto [id, at, deleted] = finished_.front();
    const bool over = deleted ||
                      finished_.size() > static_cast<std::size_t>(settings.retain_finished_max) ||
                      at + settings.retain_finished <= now;
    if (!over) return;
    JobState& oldest = job(id);
    if (oldest.request != 0 && settings.rules >= 2) past_requests_.add({oldest.request, id, now});
    give_name_up(oldest);
    const std::uint32_t slot = slot_of_[id.index() - first_id_];
    oldest = JobState{};
    free_slots_.push_back(slot);
    slot_of_[id.index() - first_id_] = kNoSlot;
    finished_.pop_front();
    drop_retired_ids();
    expect_retirement();
  }
}

Instant State::next_retirement(Duration rest) const {
  if (finished_.empty()) return Instant::never();
  const auto [id, at, deleted] = finished_.front();
  const bool at_once =
      deleted || finished_.size() > static_cast<std::size_t>(settings.retain_finished_max);
  return at_once ? now + rest : std::max(now + rest, at + settings.retain_finished);
}

// Those that go next have not been looked at since they ended. What is behind a pointer can be
// asked for only when the pointer is there, so each is followed by one more step each time.
void State::expect_retirement() const {
  if (finished_.size() < 7) return;
  const auto next = [&](std::size_t i) -> const JobState& { return job(finished_[i].job); };
  const JobState& nearest = next(1);
  names_.expect(nearest.name_hash);
  expect_parts(finished_[2].job);
  prefetch(&next(4));
  prefetch(&slot_of_[finished_[6].job.index() - first_id_]);
}

// Ids of a retired prefix need no slot entry; dropping half at a time keeps it amortised.
void State::drop_retired_ids() {
  std::size_t& prefix = retired_prefix_;
  while (prefix < slot_of_.size() && slot_of_[prefix] == kNoSlot) ++prefix;
  if (prefix < 4096 || prefix * 2 < slot_of_.size()) return;
  slot_of_.erase_front(prefix);
  first_id_ += static_cast<std::uint32_t>(prefix);
  prefix = 0;
}

void State::enqueue(JobState& job) {
  if (job.row.infeasible) return;
  const JobRow& row = job.row;
  waiting.insert(row.priority, {row.id, row.gang_room(), row.estimate}, row.wait_kind());
}

void State::dequeue(JobState& job) { waiting.erase(job.row.priority, job.row.id); }

void State::set_held(JobState& job, bool holds, std::int32_t devices) {
  JobRow& row = job.row;
  row.attained_us = row.attained_device_us(now);
  row.attained_as_of = now;
  if (holds != row.holds) {
    if (holds) {
      holding_.insert(row.id);
      ++holding_count_;
    } else {
      holding_.erase(row.id);
      --holding_count_;
    }
    row.holds = holds;
    if (row.preemptible) preemptible_holding += holds ? 1 : -1;
  }
  for (const std::uint32_t quota : {row.quota_group, row.quota_namespace})
    if (quota != UINT32_MAX) quotas[quota].held += devices - row.devices_held;
  row.devices_held = devices;
  row.allocated_at = now;
}

bool State::quota_allows(const JobState& job, std::int32_t devices) const {
  for (const std::uint32_t quota : {job.row.quota_group, job.row.quota_namespace}) {
    if (quota == UINT32_MAX) continue;
    const QuotaUse& use = quotas[quota];
    if (use.held - job.row.devices_held + devices > use.quota.devices) return false;
  }
  return true;
}

namespace {

// For std::push_heap: the earliest on top, the lower id first on ties.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.at != b.at ? b.at < a.at : b.job < a.job;
};

}  // namespace

void State::queue_timer(const JobState& job) {
  timers_.push_back({job.timers.earliest(), job.row.id});
  std::push_heap(timers_.begin(), timers_.end(), kLater);
}

void State::set_timer(JobState& job, TimerKind kind, Instant at) {
  const Instant before = job.timers.earliest();
  if (settings.rules >= 3)
    job.timers.set(kind, at);
  else if (kind == TimerKind::Backoff)
    job.timers.note(kind, at);
  else
    job.timers.set_sole(at);
  const Instant earliest = job.timers.earliest();
  if (earliest != before && !earliest.is_never()) queue_timer(job);
}

void State::clear_timer(JobState& job, TimerKind kind) {
  if (settings.rules >= 3) set_timer(job, kind, Instant::never());
}

void State::arm_timers(JobState& job) {
  job.timers.rearm(settings.rules < 3);
  if (!job.timers.earliest().is_never()) queue_timer(job);
}

bool State::timer_is_current(const Timer& timer) const {
  const JobState* job = find(timer.job);
  return job != nullptr && job->timers.earliest() == timer.at;
}

Instant State::next_timer() { return std::min(next_job_timer(), node_timer_); }

Instant stays_after(const State& state, const NodeState& node) {
  if (state.settings.rules < 1 || node.silent || node.leaves_at.is_never()) return Instant::never();
  return node.leaves_at + state.settings.node_lease + state.settings.fence_margin;
}

void State::rebuild_node_timer() {
  node_timer_ = Instant::never();
  for (const NodeState& node : nodes) {
    if (node.excluded) node_timer_ = std::min(node_timer_, node.excluded_until);
    node_timer_ = std::min(node_timer_, stays_after(*this, node));
  }
}

Instant State::next_job_timer() {
  while (!timers_.empty() && !timer_is_current(timers_.front())) {
    std::pop_heap(timers_.begin(), timers_.end(), kLater);
    timers_.pop_back();
  }
  return timers_.empty() ? Instant::never() : timers_.front().at;
}

State::DueTimer State::take_due_timer() {
  if (next_job_timer() > now) return {};
  JobState& top = job(timers_.front().job);
  std::pop_heap(timers_.begin(), timers_.end(), kLater);
  timers_.pop_back();
  const TimerKind kind = settings.rules >= 3 ? top.timers.due() : TimerKind::Sole;
  const Instant at = top.timers.at(kind);
  if (settings.rules >= 3)
    top.timers.set(kind, Instant::never());
  else
    top.timers.set_sole(Instant::never());
  if (!top.timers.earliest().is_never()) queue_timer(top);
  return {top.row.id, kind, at};
}

Instant State::next_cycle() const {
  if (settings.plan_period == Duration::zero() || live_ == 0) return Instant::never();
  // No function of `now`: real clocks are always somewhat past the multiple when they are looked
  // at, so a multiple after now would never come. After a late wake the cycle is due once, for all
  // the multiples that were missed.
  const std::int64_t period = settings.plan_period.ns;
  return Instant{(last_cycle.ns / period + 1) * period};
}

DeviceModelId State::model_named(std::string_view name) const {
  for (std::size_t i = 0; i < models.size(); ++i)
    if (models[i] == name) return DeviceModelId{static_cast<std::uint16_t>(i)};
  return DeviceModelId{static_cast<std::uint16_t>(models.size())};
}

DeviceModelId State::intern_model(const std::string& name) {
  const DeviceModelId id = model_named(name);
  if (id.index() == models.size()) models.push_back(name);
  return id;
}

Demand State::demand_of(const Bundle& bundle) {
  return {bundle.cpu,
          bundle.memory,
          bundle.devices,
          bundle.share,
          bundle.device_model.empty() ? DeviceModelId::none() : intern_model(bundle.device_model)};
}

template <class Self, class Visitor>
void State::plain_fields(Self& self, Visitor& v) {
  v.field("epoch", self.epoch);
  v.field("settings", self.settings);
  v.field("now", self.now);
  v.field("sequence", self.sequence);
  v.field("models", self.models);
  v.field("nodes", self.nodes);
  v.field("quotas", self.quotas);
  v.field("ledger", self.ledger);
  v.field("totals", self.totals);
  v.field("last_cycle", self.last_cycle);
  v.field("wants_more", self.wants_more);
  v.field("first_id", self.first_id_);
  v.field_since(3, "declared", self.declared);
}

void State::save(ByteWriter& out) const {
  Encoder encoder(out);
  plain_fields(*this, encoder);
  out.varint(next_job().value);
  out.varint(job_count());
  for_each_job([&](const JobState& job) { encoder.put(job); });
  out.varint(finished_.size());
  for (const Finished& each : finished_) encoder.put(each.job);
  out.varint(past_requests_.list().size());
  for (const PastRequest& each : past_requests_.list()) encoder.put(each);
}

bool State::load(ByteReader& in, std::uint16_t version) {
  *this = State{};
  Decoder decoder(in, version);
  plain_fields(*this, decoder);
  const std::uint64_t next = in.varint();
  const std::uint64_t count = in.varint();
  if (!decoder.ok() || next < first_id_ || next - first_id_ < count || count > in.remaining())
    return false;
  slot_of_.assign(next - first_id_, kNoSlot);
  for (std::uint64_t i = 0; i < count; ++i) {
    JobState& job = jobs_.emplace_back();
    decoder.get(job);
    if (planted(Bug::LoseCounterInSnapshot)) job.row.restarts = 0;
    const JobId id = job.row.id;
    if (!decoder.ok() || job.spec == nullptr || id.index() < first_id_ || id >= next_job())
      return false;
    slot_of_[id.index() - first_id_] = static_cast<std::uint32_t>(i);
  }
  const std::uint64_t finished = in.varint();
  if (!in.ok() || finished > count) return false;
  for (std::uint64_t i = 0; i < finished; ++i) {
    JobId id;
    decoder.get(id);
    const JobState* job = find(id);
    if (job == nullptr) return false;
    finished_.push_back({id, job->finished_at, job->deleted});
  }
  for (std::uint64_t left = version >= 5 ? in.varint() : 0; left > 0 && decoder.ok(); --left) {
    PastRequest past;
    decoder.get(past);
    past_requests_.add(past);
  }
  if (!decoder.ok()) return false;
  rebuild();
  return true;
}

// Fills in what is derived from the saved fields.
void State::rebuild() {
  ledger.count_parts(settings.rules >= 1);
  ledger.rebuild();
  rebuild_node_timer();
  has_spares = false;
  stand_ins.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool stands_in = !nodes[i].stands_in_for.is_none();
    has_spares = has_spares || nodes[i].spare || stands_in;
    if (stands_in) stand_ins.emplace_back(static_cast<std::uint32_t>(i));
    ledger.set_site(NodeId{static_cast<std::uint32_t>(i)}, nodes[i].rack, nodes[i].nvlink_domain);
  }
  for_each_job([&](JobState& job) {
    take_name(job);
    if (!is_final(job.row.phase)) {
      ++live_;
      count_demand(job);
    }
    if (job.row.holds) {
      holding_.insert(job.row.id);
      ++holding_count_;
    }
    if (job.row.holds && job.row.preemptible) ++preemptible_holding;
    if (job.row.phase == JobPhase::Pending && !job.row.holds) enqueue(job);
    arm_timers(job);
  });
}

Digest State::digest() const {
  ByteWriter bytes;
  save(bytes);
  Digester digester;
  digester.update(bytes.bytes());
  return digester.finish();
}

}  // namespace orrery
