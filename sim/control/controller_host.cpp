#include "sim/control/controller_host.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"
#include "core/driver/replay.hpp"

namespace orrery::sim {
namespace {

/// Thrown through a driver where its leader crashes; the host catches it and drops the leader
/// whole.
struct LeaderCrashed {};

}  // namespace

/// Passes everything on, and crashes at an order.
class ControllerHost::CrashingPort final : public World {
 public:
  CrashingPort(ControllerHost& host, Leader& leader) : host_(host), leader_(leader) {}

  void connect(World& world) { world_ = &world; }

  Instant now() const override { return world_->now(); }

  void issue(const Command& command) override;

  void withheld(JobId job, Incarnation incarnation) override { world_->withheld(job, incarnation); }

  void never_started(const StartWorkers& left_out) override { world_->never_started(left_out); }

  bool wait_events(Instant deadline, std::vector<Event>& events) override {
    return world_->wait_events(deadline, events);
  }

 private:
  ControllerHost& host_;
  Leader& leader_;
  World* world_ = nullptr;
};

/// Passes everything on, and crashes after an append or before a snapshot.
class ControllerHost::CrashingStore final : public StateStore {
 public:
  CrashingStore(ControllerHost& host, Leader& leader, FaultyStore& store)
      : host_(host), leader_(leader), store_(store) {}

  Status append(Epoch writer, std::span<const StoredRecord> records) override;

  Sequence durable() const override { return store_.durable(); }

  Status sync() override { return store_.sync(); }

  Instant next_durable() const override;

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override {
    return store_.read_from(first, visit);
  }

  Status save_snapshot(const StoredSnapshot& snapshot) override;

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return store_.latest_snapshot();
  }

 private:
  ControllerHost& host_;
  Leader& leader_;
  FaultyStore& store_;
};

/// One life of one leader.
struct ControllerHost::Leader {
  Leader(ControllerHost& host, LeaderNumber n)
      : number(n),
        faulty(host.journal_, n),
        store(host, *this, faulty),
        port(host, *this),
        policy(host.options_.policy()),
        planner(*policy,
                host.options_.planner_latency,
                nullptr,
                host.options_.seed + n.value,
                host.options_.planner_faults,
                {host.options_.policy, host.options_.policy_steps_max}),
        driver(controller, port, store, planner, host.observer_, driver_options(host.options_)) {}

  static DriverOptions driver_options(const HostOptions& options) {
    DriverOptions out;
    out.snapshot_every = options.snapshot_every;
    return out;
  }

  /// How far the leader's own clock is ahead of the world's.
  Duration ahead(const ControllerHost& host) const { return port.now() - host.ports_.now(); }

  bool crashes_at(CrashPoint point) const { return crash && crash->point == point; }

  LeaderNumber number;
  Controller controller;
  FaultyStore faulty;
  CrashingStore store;
  CrashingPort port;
  std::unique_ptr<Policy> policy;
  LatePlanner planner;
  Driver driver;
  std::optional<Crash> crash;
  Instant asleep_until;
  Sequence begun_at;  ///< The record that begins its epoch.
  bool connected = false;
  bool established = false;
};

void ControllerHost::CrashingPort::issue(const Command& command) {
  if (leader_.crashes_at(CrashPoint::AtOrder)) {
    if (leader_.crash->orders == 0) throw LeaderCrashed{};
    --leader_.crash->orders;
  }
  host_.establish(leader_);
  if (host_.watch_ != nullptr) host_.watch_->on_order(leader_.number, command);
  world_->issue(command);
}

Status ControllerHost::CrashingStore::append(Epoch writer, std::span<const StoredRecord> records) {
  const Status appended = store_.append(writer, records);
  if (appended && leader_.crashes_at(CrashPoint::AfterAppend)) throw LeaderCrashed{};
  return appended;
}

// The store keeps the world's time, the driver that of its port.
Instant ControllerHost::CrashingStore::next_durable() const {
  const Instant at = store_.next_durable();
  return at.is_never() ? at : at + leader_.ahead(host_);
}

Status ControllerHost::CrashingStore::save_snapshot(const StoredSnapshot& snapshot) {
  if (leader_.crashes_at(CrashPoint::BeforeSnapshot)) throw LeaderCrashed{};
  return store_.save_snapshot(snapshot);
}

ControllerHost::ControllerHost(HostOptions options,
                               LeaderPorts& ports,
                               RunObserver* observer,
                               HostWatch* watch)
    : options_(std::move(options)),
      ports_(ports),
      observer_(observer),
      watch_(watch),
      journal_(Random::stream(options_.seed, "store"), watch) {
  invariant(options_.policy != nullptr, "a host needs a policy for its leaders");
  invariant(options_.restart_after > Duration::zero(), "a leader is succeeded some time later");
}

ControllerHost::~ControllerHost() = default;

ControllerHost::Leader* ControllerHost::find(LeaderNumber leader) const {
  for (const std::unique_ptr<Leader>& each : leaders_)
    if (each != nullptr && each->number == leader) return each.get();
  return nullptr;
}

std::size_t ControllerHost::running() const {
  return static_cast<std::size_t>(std::count_if(
      leaders_.begin(), leaders_.end(), [](const auto& leader) { return leader != nullptr; }));
}

std::optional<LeaderNumber> ControllerHost::leading() const {
  for (std::size_t i = leaders_.size(); i-- > 0;)
    if (leaders_[i] != nullptr) return leaders_[i]->number;
  return std::nullopt;
}

bool ControllerHost::holds_journal(LeaderNumber leader) const {
  const Leader* found = find(leader);
  return found != nullptr && found->faulty.is_current();
}

const Controller& ControllerHost::controller(LeaderNumber leader) const {
  const Leader* found = find(leader);
  invariant(found != nullptr, "a leader whose controller is asked for must run");
  return found->controller;
}

std::optional<LeaderNumber> ControllerHost::start_leader() {
  if (running() == leaders_.size()) return std::nullopt;
  if (leaders_[0] == nullptr) std::swap(leaders_[0], leaders_[1]);
  journal_.advance_to(ports_.now());
  started_ = started_.next();
  std::unique_ptr<Leader>& place = leaders_[leaders_[0] == nullptr ? 0 : 1];
  place = std::make_unique<Leader>(*this, started_);
  const LeaderNumber number = started_;
  if (begin(*place)) return number;
  return std::nullopt;
}

// False: the leader did not come so far that it leads, and is gone.
bool ControllerHost::begin(Leader& leader) {
  leader.crash = std::exchange(next_crash_, std::nullopt);
  try {
    if (const Status led = lead(leader); !led) {
      if (watch_ != nullptr) watch_->on_start_failed(led.errors());
      end(leader, LeaderEnd::StoreFailed, TailLoss::Prefix);
      return false;
    }
  } catch (const LeaderCrashed&) {
    end(leader, LeaderEnd::Crashed, leader.crash->loss);
    return false;
  }
  if (!leader.crashes_at(CrashPoint::Now)) return true;
  end(leader, LeaderEnd::Crashed, leader.crash->loss);
  return false;
}

// Replays the journal and takes the next epoch.
Status ControllerHost::lead(Leader& leader) {
  const Result<JournalEnd> replayed = replay(leader.store, leader.controller);
  if (!replayed) return replayed.errors();
  leader.driver.continue_from(replayed->chain, replayed->snapshot);
  const State& state = leader.controller.state();
  // An epoch whose record was lost is not used again: its leader may still be alive.
  Epoch epoch = std::max(state.epoch, journal_.leader()).next();
  if (planted(Bug::EpochNotRaised) && state.epoch.value > 0) epoch = state.epoch;
  World& port = ports_.port(leader.number, epoch, state);
  leader.port.connect(port);
  leader.connected = true;
  leader.begun_at = state.sequence.next();
  if (watch_ != nullptr)
    watch_->on_started(leader.number, epoch, state.sequence, leader.controller.digest());
  const Instant now = port.now();
  std::vector<Event> opening{{now, now, Origin::External, EpochStarted{epoch, options_.settings}}};
  if (state.nodes.empty())
    for (const EventBody& body : options_.declarations)
      opening.push_back({now, now, Origin::External, body});
  if (Status opened = leader.driver.apply(std::move(opening)); !opened) return opened;
  // No agent may hear of the epoch before it is safe, so it is not left to the first order.
  if (Status synced = leader.store.sync(); !synced) return synced;
  establish(leader);
  return Done{};
}

void ControllerHost::establish(Leader& leader) {
  if (leader.established || leader.store.durable() < leader.begun_at) return;
  leader.established = true;
  ports_.established(leader.number);
}

void ControllerHost::crash(LeaderNumber leader, const Crash& crash) {
  Leader* found = find(leader);
  if (found == nullptr) return;
  if (crash.point == CrashPoint::Now) {
    end(*found, LeaderEnd::Crashed, crash.loss);
  } else {
    found->crash = crash;
  }
}

void ControllerHost::pause(LeaderNumber leader, Instant until) {
  if (Leader* found = find(leader)) found->asleep_until = std::max(found->asleep_until, until);
}

bool ControllerHost::is_asleep(const Leader& leader) const {
  return ports_.now() < leader.asleep_until;
}

void ControllerHost::end(Leader& leader, LeaderEnd how, TailLoss loss) {
  if (watch_ != nullptr) {
    const Controller& controller = leader.controller;
    watch_->on_ended(leader.number, how, controller.state().sequence, controller.digest());
  }
  const LeaderNumber number = leader.number;
  const bool connected = leader.connected;
  if (leader.faulty.is_current()) {
    journal_.lose_tail(loss);
    vacant_since_ = ports_.now();
  }
  for (std::unique_ptr<Leader>& each : leaders_)
    if (each.get() == &leader) each.reset();
  if (connected) ports_.close(number);
}

// One leader does what it has to do at this instant, one turn.
bool ControllerHost::turn_of(Leader& leader) {
  const Sequence before = leader.controller.state().sequence;
  Turn did = Turn::Idle;
  try {
    did = leader.driver.turn();
  } catch (const LeaderCrashed&) {
    end(leader, LeaderEnd::Crashed, leader.crash->loss);
    return true;
  }
  steps_ += leader.controller.state().sequence.value - before.value;
  if (did == Turn::Refused) {
    const bool deposed = leader.driver.refusal() == RunEnd::Deposed;
    end(leader, deposed ? LeaderEnd::Deposed : LeaderEnd::StoreFailed, TailLoss::Prefix);
    return true;
  }
  return did == Turn::Worked;
}

bool ControllerHost::turn() {
  const Instant now = ports_.now();
  if (now != turns_at_) {
    turns_at_ = now;
    turns_here_ = 0;
  }
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    journal_.advance_to(now);
    start_if_due();
    for (std::unique_ptr<Leader>& leader : leaders_) {
      if (leader == nullptr || is_asleep(*leader)) continue;
      establish(*leader);
      // Before its epoch is safe it decides nothing: reports of what runs come first.
      if (!leader->established) continue;
      if (++turns_here_ > options_.idle_turns_max) {
        end(*leader, LeaderEnd::NoProgress, TailLoss::Prefix);
        return true;
      }
      more = turn_of(*leader) || more;
    }
    any = any || more;
  }
  return any;
}

// Where the youngest leader has ended, every other one that runs is deposed: a new one must take
// over.
void ControllerHost::start_if_due() {
  if (options_.restart_after.is_forever()) return;
  const std::optional<LeaderNumber> youngest = leading();
  if (youngest == started_ && started_.value > 0) return;
  if (started_.value == 0 || ports_.now() >= vacant_since_ + options_.restart_after)
    (void)start_leader();
}

Instant ControllerHost::wake_of(Leader& leader) {
  if (!leader.established) return journal_.next_durable();
  const Instant due = leader.driver.next_wake();
  return due.is_never() ? due : due - leader.ahead(*this);
}

Instant ControllerHost::next_wake() {
  const Instant now = ports_.now();
  Instant wake = Instant::never();
  for (const std::unique_ptr<Leader>& leader : leaders_) {
    if (leader == nullptr) continue;
    // A leader that sleeps misses what is due meanwhile, and sees to it when it wakes.
    Instant due = leader->asleep_until;
    if (!is_asleep(*leader)) due = wake_of(*leader);
    wake = std::min(wake, due);
  }
  if (!options_.restart_after.is_forever() && leading() != started_)
    wake = std::min(wake, std::max(now, vacant_since_ + options_.restart_after));
  return wake;
}

void ControllerHost::run(Instant until) {
  while (true) {
    (void)turn();
    const Instant now = ports_.now();
    if (now >= until) return;
    ports_.advance(std::min(next_wake(), until));
  }
}

}  // namespace orrery::sim
