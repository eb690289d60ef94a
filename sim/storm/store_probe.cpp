#include "sim/storm/store_probe.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/control/controller.hpp"
#include "core/driver/replay.hpp"

namespace orrery::sim {
namespace {

// So many records are looked at: each is read several times.
constexpr std::uint64_t kRecordsMax = 12;

struct CopiedRecord {
  Sequence sequence;
  Digest chain;
  std::vector<std::byte> bytes;
  std::uint16_t version = 0;
};

// Gives what it was given, sound or not.
class CopiedStore final : public StateStore {
 public:
  Status append(Epoch, std::span<const StoredRecord>) override { return Done{}; }

  Sequence durable() const override {
    return records.empty() ? Sequence{} : records.back().sequence;
  }

  Status sync() override { return Done{}; }

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override {
    for (const CopiedRecord& record : records)
      if (record.sequence >= first &&
          !visit({record.sequence, record.chain, record.bytes, record.version}))
        break;
    return Done{};
  }

  Status save_snapshot(const StoredSnapshot&) override { return Done{}; }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override { return snapshot; }

  std::vector<CopiedRecord> records;
  std::optional<StoredSnapshot> snapshot;
};

Digest chained(const Digest& before, std::span<const std::byte> bytes) {
  Digester digester(before);
  digester.update(bytes);
  return digester.finish();
}

using Damage = std::function<void(std::vector<CopiedRecord>&, std::size_t)>;

struct NamedDamage {
  const char* name;
  Damage act;
};

// Each at the record with this place; what comes before it stays sound.
std::vector<NamedDamage> damages(const Digest& before) {
  const auto chain_before = [before](const std::vector<CopiedRecord>& records, std::size_t at) {
    return at == 0 ? before : records[at - 1].chain;
  };
  return {
      {"that is missing",
       [](auto& records, std::size_t at) {
         records.erase(records.begin() + static_cast<std::ptrdiff_t>(at));
       }},
      {"that stands behind the next one",
       [](auto& records, std::size_t at) { std::swap(records[at], records[at + 1]); }},
      {"with a flipped bit",
       [](auto& records, std::size_t at) {
         std::byte& byte = records[at].bytes[records[at].bytes.size() / 2];
         byte = byte ^ std::byte{4};
       }},
      {"with another chain", [](auto& records, std::size_t at) { records[at].chain.low ^= 1; }},
      {"of a newer version",
       [](auto& records, std::size_t at) { records[at].version = kRecordVersion + 1; }},
      {"with a byte too many",
       [chain_before](auto& records, std::size_t at) {
         records[at].bytes.push_back(std::byte{0});
         records[at].chain = chained(chain_before(records, at), records[at].bytes);
       }},
      {"that lacks its last byte",
       [chain_before](auto& records, std::size_t at) {
         records[at].bytes.pop_back();
         records[at].chain = chained(chain_before(records, at), records[at].bytes);
       }},
  };
}

std::string record_text(Sequence sequence) { return "record " + std::to_string(sequence.value); }

bool names(const Errors& errors, const std::string& part) {
  return std::any_of(errors.begin(), errors.end(), [&](const Error& error) {
    return error.text().find(part) != std::string::npos;
  });
}

// The sound copy is read to its end, and no further than its reader wants.
void read_sound(CopiedStore& copy, const Digest& before, std::vector<std::string>& wrong) {
  const Sequence first = copy.records.front().sequence;
  const Sequence middle = copy.records[copy.records.size() / 2].sequence;
  const auto all = read_journal(copy, first, before, [](Sequence, const Event&) { return true; });
  if (!all || all->last != copy.records.back().sequence ||
      all->chain != copy.records.back().chain || all->replayed != copy.records.size())
    wrong.push_back("the journal's last records are not read as they were written");
  const auto half =
      read_journal(copy, first, before, [&](Sequence at, const Event&) { return at < middle; });
  if (!half || half->last != middle || half->replayed != copy.records.size() / 2 + 1)
    wrong.push_back("the journal is not read up to the record that was asked for");
}

Event event_of(const State& state, EventBody body) {
  return {state.now, state.now, Origin::External, std::move(body)};
}

NodeGroup plain_group(const std::string& name) {
  NodeGroup group;
  group.name = name;
  group.count = 2;
  group.cpu = MilliCpu{4'000};
  group.memory = Bytes{std::int64_t{1} << 30};
  group.devices = 2;
  group.device_model = "probe";
  return group;
}

struct Unsound {
  const char* name;
  std::function<void(NodeGroup&)> spoil;
};

// As docs/scenario_format.md and the record's own comments bound them.
std::vector<Unsound> unsound_groups() {
  return {
      {"no node", [](NodeGroup& g) { g.count = 0; }},
      {"fewer nodes than none", [](NodeGroup& g) { g.count = -1; }},
      {"fewer devices than none", [](NodeGroup& g) { g.devices = -1; }},
      {"65 devices a node", [](NodeGroup& g) { g.devices = 65; }},
      {"fewer spares than none", [](NodeGroup& g) { g.spares = -1; }},
      {"more spares than nodes", [](NodeGroup& g) { g.spares = g.count + 1; }},
      {"less cpu than none", [](NodeGroup& g) { g.cpu = MilliCpu{-1}; }},
      {"less memory than none", [](NodeGroup& g) { g.memory = Bytes{-1}; }},
      {"port 0",
       [](NodeGroup& g) {
         g.ports = {0, 10};
       }},
      {"no port",
       [](NodeGroup& g) {
         g.ports = {30'000, 0};
       }},
      {"ports beyond the last one",
       [](NodeGroup& g) {
         g.ports = {kPortMax, 2};
       }},
      {"a name for one node of two", [](NodeGroup& g) { g.node_names = {"probe-a"}; }},
      {"one name for two nodes",
       [](NodeGroup& g) {
         g.node_names = {"probe-a", "probe-a"};
       }},
      {"an empty name",
       [](NodeGroup& g) {
         g.node_names = {"probe-a", ""};
       }},
  };
}

// The largest and the smallest that may be.
std::vector<NodeGroup> sound_groups() {
  NodeGroup least = plain_group("least");
  least.count = 1;
  least.cpu = MilliCpu{};
  least.memory = Bytes{};
  least.devices = 0;
  least.device_model.clear();
  least.ports = {1, 1};
  NodeGroup most = plain_group("most");
  most.devices = 64;
  most.spares = most.count;
  most.ports = {1, kPortMax};
  most.node_names = {"probe-a", "probe-b"};
  NodeGroup last_port = plain_group("last-port");
  last_port.ports = {kPortMax, 1};
  return {least, most, last_port};
}

struct Strange {
  const char* name;
  EventBody body;
  Ignored why;
};

// About a job and a node that there are not.
std::vector<Strange> strange_events(const State& state) {
  const JobId job{state.next_job().value + 7};
  const NodeId node{static_cast<std::uint32_t>(state.nodes.size())};
  const RoleIndex role{0};
  return {
      {"a scaling", ScaleRequested{1, job, role, ScaleMode::Set, 1}, Ignored::UnknownJob},
      {"a stop", StopRequested{1, job}, Ignored::UnknownJob},
      {"a deletion", DeleteRequested{1, job}, Ignored::UnknownJob},
      {"a profiling", ProfilingChanged{job, Generation{1}, Rank{0}, {}}, Ignored::UnknownJob},
      {"progress", ProgressReported{job, Generation{1}}, Ignored::UnknownJob},
      {"the start of a worker",
       WorkersChanged{job, Generation{1}, Incarnation{1}, WorkerFact::Ready, Rank{0}, 1},
       Ignored::UnknownJob},
      {"the end of a worker",
       WorkersChanged{job, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 3},
       Ignored::UnknownJob},
      {"the word of a sub-master",
       SubMasterSaid{job, role, Incarnation{1}, 1, SubMasterMessage::AskState},
       Ignored::UnknownJob},
      {"new nodes", NodesRelaunched{job, 1, {}, ""}, Ignored::UnknownJob},
      {"a suspicion",
       WorkerSuspected{job, Generation{1}, Incarnation{1}, Rank{0}, Suspicion::Hung},
       Ignored::UnknownJob},
      {"a failure in words",
       FailureExplained{job, Incarnation{1}, Rank{0}, "it failed", ""},
       Ignored::UnknownJob},
      {"silence", NodeSilent{node}, Ignored::UnknownNode},
      {"a return", NodeReturned{node, {}, Sequence{1}}, Ignored::UnknownNode},
      {"an exclusion", ExclusionRequested{1, node, true}, Ignored::UnknownNode},
      {"an inclusion", ExclusionRequested{0, node, false}, Ignored::UnknownNode},
      {"a notice of leaving", NodeLeaving{node, state.now}, Ignored::UnknownNode},
      {"lost devices", DevicesLost{node, 1}, Ignored::UnknownNode},
      {"a node held for its check", NodeHeld{node, 0}, Ignored::UnknownNode},
      {"an epoch that is not higher",
       EpochStarted{state.epoch, state.settings},
       Ignored::StaleGeneration},
  };
}

bool load(const std::vector<std::byte>& saved, Controller& controller) {
  ByteReader in(saved);
  return controller.load(in, kRecordVersion) && in.finished();
}

// Steps what changes nothing, and tells where it does more than to be ignored once for `why`.
void step_ignored(Controller& controller,
                  const std::string& name,
                  EventBody body,
                  std::optional<Ignored> why,
                  std::vector<std::string>& wrong) {
  const std::size_t kind = body.index();
  Commands out;
  controller.step(event_of(controller.state(), std::move(body)), out);
  const bool ignored =
      out.notices.size() == 1 && out.notices.front().kind == NoticeKind::IgnoredReport &&
      out.notices.front().event_kind == kind && (!why || out.notices.front().ignored == *why);
  if (!ignored) wrong.push_back(name + " is not ignored by its name");
  for (const CommandBody& order : out.orders) {
    const auto* answer = std::get_if<AnswerRequest>(&order);
    if (answer == nullptr || answer->accepted || answer->message.empty())
      wrong.push_back(name + " is not refused with a reason");
  }
}

constexpr const char* kNowhere = "default.probe-nowhere";
constexpr std::uint64_t kProbeRequest = std::uint64_t{1} << 60;  // Nobody else's.

// A job of one worker on a device that there is not: more nodes may bring it.
JobSpec seated_nowhere(const State& state) {
  std::int64_t devices = 0;
  for (const NodeGroup& group : state.declared)
    devices += std::int64_t{group.count} * group.devices;
  JobSpec spec;
  spec.name = kNowhere;
  RoleSpec role;
  role.name = "worker";
  role.bundle.devices = 1;
  role.placements.push_back({1, {}, std::to_string(devices + 5)});
  spec.roles.push_back(std::move(role));
  return spec;
}

void submit_nowhere(Controller& controller, std::vector<std::string>& wrong) {
  Commands out;
  controller.step(
      event_of(controller.state(),
               JobSubmitted{kProbeRequest,
                            std::make_shared<const JobSpec>(seated_nowhere(controller.state()))}),
      out);
  std::string refused = "it was not answered";
  for (const CommandBody& order : out.orders)
    if (const auto* answer = std::get_if<AnswerRequest>(&order))
      refused = answer->accepted ? "" : answer->message;
  bool waits = false;
  controller.state().for_each_job([&](const JobState& job) {
    waits = waits || (job.spec->name == kNowhere && job.row.phase == JobPhase::Pending &&
                      job.row.infeasible && !job.row.holds);
  });
  if (!refused.empty() || !waits)
    wrong.push_back("a job on a device that there is not does not wait for it: " + refused);
}

}  // namespace

std::vector<std::string> misread_journal(StateStore& store) {
  std::vector<std::string> wrong;
  const std::uint64_t last = store.durable().value;
  // A record before them, for its chain; and one behind the damaged one.
  if (last < 4) return wrong;
  const std::uint64_t first = last > kRecordsMax ? last - kRecordsMax : 1;
  CopiedStore copy;
  const Status read = store.read_from(Sequence{first}, [&](const StoredRecord& record) {
    copy.records.push_back({record.sequence,
                            record.chain,
                            {record.bytes.begin(), record.bytes.end()},
                            record.version});
    return true;
  });
  if (!read || copy.records.size() < 4) return wrong;
  const Digest before = copy.records.front().chain;
  copy.records.erase(copy.records.begin());
  read_sound(copy, before, wrong);
  const std::vector<CopiedRecord> sound = copy.records;
  const std::size_t at = sound.size() / 2;
  for (const NamedDamage& damage : damages(before)) {
    copy.records = sound;
    damage.act(copy.records, at);
    std::uint64_t visited = 0;
    const auto end =
        read_journal(copy, sound.front().sequence, before, [&](Sequence, const Event&) {
          ++visited;
          return true;
        });
    const std::string what = record_text(sound[at].sequence) + " " + damage.name;
    if (end)
      wrong.push_back("a journal is read although it has " + what);
    else if (!names(end.errors(), record_text(sound[at].sequence)))
      wrong.push_back("a journal is refused without naming " + what);
    if (visited != at) wrong.push_back("a journal is read otherwise than up to " + what);
  }
  return wrong;
}

std::vector<std::string> misread_snapshots(const State& state) {
  std::vector<std::string> wrong;
  ByteWriter bytes;
  state.save(bytes);
  CopiedStore copy;
  copy.snapshot = StoredSnapshot{
      state.sequence, {}, kRecordVersion, {bytes.bytes().begin(), bytes.bytes().end()}};
  const StoredSnapshot sound = *copy.snapshot;
  const auto is_read = [&] {
    Controller controller;
    const auto end = replay(copy, controller);
    return end && end->last == state.sequence && end->snapshot == state.sequence;
  };
  if (!is_read()) wrong.push_back("a sound snapshot is refused");
  const auto refused = [&](const std::string& name,
                           const std::function<void(StoredSnapshot&)>& damage) {
    copy.snapshot = sound;
    damage(*copy.snapshot);
    Controller controller;
    const auto end = replay(copy, controller);
    if (end)
      wrong.push_back("a snapshot " + name + " is read");
    else if (!names(end.errors(), record_text(copy.snapshot->sequence)))
      wrong.push_back("a snapshot " + name + " is refused without the record that it is of");
  };
  refused("with a byte too many", [](StoredSnapshot& s) { s.bytes.push_back(std::byte{0}); });
  refused("that lacks its last byte", [](StoredSnapshot& s) { s.bytes.pop_back(); });
  refused("of a newer version", [](StoredSnapshot& s) { s.version = kRecordVersion + 1; });
  refused("of another record", [](StoredSnapshot& s) { s.sequence = s.sequence.next(); });
  return wrong;
}

std::vector<std::string> misled(const State& state) {
  std::vector<std::string> wrong;
  ByteWriter bytes;
  state.save(bytes);
  const std::vector<std::byte> saved(bytes.bytes().begin(), bytes.bytes().end());
  Controller controller;
  Controller reference;
  if (!load(saved, controller) || !load(saved, reference)) return {"a state is not read again"};
  if (controller.digest() != state.digest()) return {"a state is read again as another one"};
  std::size_t steps = 0;
  for (const Unsound& unsound : unsound_groups()) {
    std::vector<NodeGroup> groups{plain_group("sound"), plain_group("unsound")};
    unsound.spoil(groups.back());
    step_ignored(controller,
                 std::string("a declaration with ") + unsound.name,
                 NodesDeclared{std::move(groups)},
                 std::nullopt,
                 wrong);
    ++steps;
  }
  for (const Strange& strange : strange_events(state)) {
    step_ignored(controller,
                 strange.name + std::string(" of what is not there"),
                 strange.body,
                 strange.why,
                 wrong);
    ++steps;
  }
  const JobId nobody{state.next_job().value + 9};
  Commands unused;
  for (; steps > 0; --steps) {
    unused.clear();
    reference.step(event_of(reference.state(), StopRequested{0, nobody}), unused);
  }
  if (controller.digest() != reference.digest())
    wrong.push_back("what is to be ignored has changed the state");
  const std::size_t nodes = controller.state().nodes.size();
  Commands out;
  controller.step(event_of(controller.state(), NodesDeclared{sound_groups()}), out);
  const bool ignored = std::any_of(out.notices.begin(), out.notices.end(), [](const Notice& n) {
    return n.kind == NoticeKind::IgnoredReport;
  });
  if (ignored || controller.state().nodes.size() != nodes + 5)
    wrong.push_back("a declaration at its bounds is refused");
  submit_nowhere(controller, wrong);
  return wrong;
}

}  // namespace orrery::sim
