// journal dump, journal verify: what a recorded journal holds, and whether it is whole.
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/driver/replay.hpp"
#include "core/record/codec.hpp"
#include "core/record/record_text.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;

/// One snapshot, and whether the records lead to the same state.
struct CheckedSnapshot {
  Sequence sequence;
  std::uint16_t version = 0;
  std::size_t bytes = 0;
  std::string state_digest;  ///< Of the state that it holds.
  std::string replayed;      ///< The same of the records up to it; empty where those are gone.
};

/// What a whole journal leads to.
struct Verified {
  JournalEnd end;
  Sequence first;     ///< The first record that was read.
  Sequence archived;  ///< Records up to this one are in the archive; 0 where none are.
  std::uint16_t oldest_version = 0;
  std::uint16_t newest_version = 0;
  Epoch epoch;
  std::string state_digest;
  std::string policy;  ///< That the last epoch names.
  std::vector<CheckedSnapshot> snapshots;
};

Error damaged(Sequence snapshot, const std::string& message) {
  return Error{.subject = "snapshot " + std::to_string(snapshot.value), .message = message};
}

Result<CheckedSnapshot> loaded(const StoredSnapshot& snapshot, Controller& into) {
  ByteReader bytes(snapshot.bytes);
  if (!into.load(bytes, snapshot.version) || !bytes.finished() ||
      into.state().sequence != snapshot.sequence)
    return damaged(snapshot.sequence,
                   "holds no state of that record; delete its row from the table snapshots: an "
                   "older one, or the records from the first, lead to the same state");
  return CheckedSnapshot{
      snapshot.sequence, snapshot.version, snapshot.bytes.size(), into.digest().to_hex(), {}};
}

// An older program may have come from the same records to a state that lacks what is new.
Status compare(const SqliteStore& store, const CheckedSnapshot& snapshot) {
  const bool comparable =
      snapshot.version == kRecordVersion && store.oldest_version() == kRecordVersion;
  if (!comparable || snapshot.replayed.empty() || snapshot.replayed == snapshot.state_digest)
    return Done{};
  return damaged(snapshot.sequence,
                 "holds the state " + snapshot.state_digest + ", needed that of the records, " +
                     snapshot.replayed +
                     "; it is damaged or was written by another program, replay from the first "
                     "record");
}

/// Folds every record that is there into a controller: a fresh one, or where the first records were
/// dropped that of the oldest snapshot. Every later snapshot must hold what the records lead to.
Result<Verified> verified(SqliteStore& store) {
  Verified out;
  out.first = store.first();
  if (store.first() == Sequence{1}) out.archived = store.pruned();
  out.oldest_version = store.oldest_version();
  out.newest_version = store.newest_version();
  const auto snapshots = store.snapshots();
  if (!snapshots) return snapshots.errors();
  Controller controller;
  Sequence first{1};
  Digest chain;
  for (const StoredSnapshot& snapshot : *snapshots) {
    Controller alone;
    auto checked = loaded(snapshot, alone);
    if (!checked) return checked.errors();
    out.snapshots.push_back(std::move(*checked));
    if (first >= out.first) continue;
    first = snapshot.sequence.next();
    chain = snapshot.chain;
    controller = std::move(alone);
  }
  Commands commands;
  auto end = read_journal(store, first, chain, [&](Sequence at, const Event& event) {
    commands.clear();
    controller.step(event, commands);
    for (CheckedSnapshot& snapshot : out.snapshots)
      if (snapshot.sequence == at) snapshot.replayed = controller.digest().to_hex();
    return !interrupted();
  });
  if (!end) return end.errors();
  out.end = *end;
  out.epoch = controller.state().epoch;
  out.state_digest = controller.digest().to_hex();
  out.policy = controller.state().settings.policy;
  if (interrupted()) return out;
  for (const CheckedSnapshot& snapshot : out.snapshots)
    if (Status same = compare(store, snapshot); !same) return same.errors();
  return out;
}

/// The recorded plans against those of the policy that made them ("name/version"), with what the
/// scenario gives it.
Result<RecomputeReport> recomputed(StateStore& store,
                                   const std::string& scenario,
                                   const std::string& recorded_policy) {
  auto loaded = open_scenario(scenario, {}, RunsUnder::Another);
  if (!loaded) return loaded.errors();
  const std::string name = recorded_policy.substr(0, recorded_policy.find('/'));
  const Status chosen = choose_policy(loaded->scenario, name, "the journal");
  if (!chosen) return chosen.errors();
  const auto policy = fresh_policy(loaded->scenario, loaded->workload.models());
  if (!policy) return policy.errors();
  return recompute(store, **policy);
}

void put(JsonText& json, const CheckedSnapshot& snapshot) {
  json.begin_object().field("sequence", snapshot.sequence.value);
  json.field("version", std::uint64_t{snapshot.version});
  json.field("bytes", std::uint64_t{snapshot.bytes});
  json.field("state_digest", snapshot.state_digest);
  if (snapshot.replayed.empty()) {
    json.key("replayed_digest").null();
  } else {
    json.field("replayed_digest", snapshot.replayed);
  }
  json.end_object();
}

std::string json_of(const Verified& journal, const RecomputeReport* plans) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("records", journal.end.last.value);
  json.field("first", journal.first.value).field("archived", journal.archived.value);
  json.key("record_versions").begin_array();
  json.value(std::uint64_t{journal.oldest_version});
  if (journal.newest_version != journal.oldest_version)
    json.value(std::uint64_t{journal.newest_version});
  json.end_array();
  json.field("epoch", std::uint64_t{journal.epoch.value});
  json.field("chain", journal.end.chain.to_hex()).field("state_digest", journal.state_digest);
  json.field("policy", journal.policy);
  json.key("snapshots").begin_array();
  for (const CheckedSnapshot& snapshot : journal.snapshots) put(json, snapshot);
  json.end_array();
  if (plans != nullptr) {
    json.key("recomputed").begin_object();
    json.field("plans", plans->plans).field("different", plans->different);
    json.key("first_differences").begin_array();
    for (const std::string& difference : plans->first_differences) json.value(difference);
    json.end_array().end_object();
  }
  json.end_object();
  return json.take() + "\n";
}

std::string text_of(const CheckedSnapshot& snapshot) {
  const std::string head = "snapshot after record " + std::to_string(snapshot.sequence.value) +
                           ", version " + std::to_string(snapshot.version) + ", " +
                           std::to_string(snapshot.bytes) + " bytes: ";
  if (snapshot.replayed.empty()) return head + "loads; its records were dropped\n";
  if (snapshot.replayed == snapshot.state_digest) return head + "the state of its records\n";
  return head + "loads; this program comes to another state than the one that wrote it\n";
}

std::string text_of(const Verified& journal, const RecomputeReport* plans) {
  std::string out = std::to_string(journal.end.last.value) + " records, whole\n";
  if (journal.archived.value > 0)
    out += "records up to " + std::to_string(journal.archived.value) + " in the archive\n";
  if (journal.first.value > 1)
    out += "records up to " + std::to_string(journal.first.value - 1) + " dropped\n";
  out += "epoch " + std::to_string(journal.epoch.value) + "\nchain " + journal.end.chain.to_hex() +
         "\nstate " + journal.state_digest + "\npolicy " + journal.policy + "\n";
  for (const CheckedSnapshot& snapshot : journal.snapshots) out += text_of(snapshot);
  if (plans == nullptr) return out;
  out += std::to_string(plans->plans) + " plans asked again, " + std::to_string(plans->different) +
         " different\n";
  for (const std::string& difference : plans->first_differences) out += "  " + difference + "\n";
  return out;
}

std::string line_of(const StoredSnapshot& snapshot) {
  Digester digester;
  digester.update(std::span<const std::byte>(snapshot.bytes));
  JsonText json;
  json.begin_object().field("sequence", snapshot.sequence.value).field("kind", "snapshot");
  json.field("version", std::uint64_t{snapshot.version});
  json.field("bytes", std::uint64_t{snapshot.bytes.size()});
  json.field("state_digest", digester.finish().to_hex());
  json.field("chain", snapshot.chain.to_hex()).end_object();
  return json.take() + "\n";
}

/// Every record that is there, and each snapshot after the last record that it contains.
Status dump(SqliteStore& store, Console& console) {
  const auto snapshots = store.snapshots();
  if (!snapshots) return snapshots.errors();
  constexpr std::size_t kFlushBytes = 1 << 16;
  std::string text;
  std::size_t told = 0;
  Sequence first{1};
  Digest chain;
  if (store.first() > first && !snapshots->empty()) {
    // Without its first records the journal begins with what the oldest snapshot holds.
    first = snapshots->front().sequence.next();
    chain = snapshots->front().chain;
    text += line_of((*snapshots)[told++]);
  }
  const auto end = read_journal(store, first, chain, [&](Sequence at, const Event& event) {
    text += event_json(at.value, event) + "\n";
    while (told < snapshots->size() && (*snapshots)[told].sequence <= at)
      text += line_of((*snapshots)[told++]);
    if (text.size() >= kFlushBytes) {
      console.out(text);
      text.clear();
    }
    return !interrupted();
  });
  console.out(text);
  return end ? Status(Done{}) : Status(end.errors());
}

}  // namespace

ExitCode run_journal_dump(const Arguments& arguments, Console& console) {
  const auto store = SqliteStore::open(arguments.operands().front(), SqliteStore::Access::ReadOnly);
  if (!store) {
    console.errors(store.errors());
    return ExitCode::BadInput;
  }
  if (const Status dumped = dump(**store, console); !dumped) {
    console.errors(dumped.errors());
    return ExitCode::BadInput;
  }
  return interrupted() ? ExitCode::Interrupted : ExitCode::Met;
}

ExitCode run_journal_verify(const Arguments& arguments, Console& console) {
  const auto store = SqliteStore::open(arguments.operands().front(), SqliteStore::Access::ReadOnly);
  if (!store) {
    console.errors(store.errors());
    return ExitCode::BadInput;
  }
  if (const Status pages = (*store)->check_pages(); !pages) {
    console.errors(pages.errors());
    return ExitCode::BadInput;
  }
  const auto journal = verified(**store);
  if (interrupted()) return ExitCode::Interrupted;
  if (!journal) {
    console.errors(journal.errors());
    return ExitCode::BadInput;
  }
  std::optional<RecomputeReport> plans;
  if (const auto scenario = arguments.value("--recompute")) {
    auto report = recomputed(**store, *scenario, journal->policy);
    if (!report) {
      console.errors(report.errors());
      return ExitCode::BadInput;
    }
    plans = std::move(*report);
  }
  const RecomputeReport* shown = plans ? &*plans : nullptr;
  console.out(arguments.has("--json") ? json_of(*journal, shown) : text_of(*journal, shown));
  return plans && plans->different > 0 ? ExitCode::Unmet : ExitCode::Met;
}

}  // namespace orrery::cli
