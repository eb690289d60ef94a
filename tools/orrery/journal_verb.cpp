// journal dump, journal verify: what a recorded journal holds, and whether it is whole.
#include <memory>
#include <optional>
#include <string>

#include "core/base/json_text.hpp"
#include "core/driver/replay.hpp"
#include "core/record/record_text.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "tools/orrery/interrupt.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;

/// What a whole journal leads to.
struct Verified {
  JournalEnd end;
  std::string state_digest;
  std::string policy;  ///< That the last epoch names.
};

/// Folds every record into a fresh controller. Where there is a snapshot, what follows from it must
/// be the same state.
Result<Verified> verified(StateStore& store) {
  Verified out;
  Controller controller;
  Commands commands;
  auto end = read_journal(store, Sequence{1}, Digest{}, [&](Sequence, const Event& event) {
    commands.clear();
    controller.step(event, commands);
    return !interrupted();
  });
  if (!end) return end.errors();
  out.end = *end;
  out.state_digest = controller.digest().to_hex();
  out.policy = controller.state().settings.policy;
  Controller from_snapshot;
  const auto short_way = replay(store, from_snapshot);
  if (!short_way) return short_way.errors();
  if (from_snapshot.digest() != controller.digest() && !interrupted())
    return Error{.subject = "snapshot",
                 .message = "leads to the state " + from_snapshot.digest().to_hex() +
                            ", needed that of the records, " + out.state_digest +
                            "; the snapshot is damaged or was written by another program, replay "
                            "from the first record"};
  return out;
}

/// The recorded plans against those of the policy that made them ("name/version"), with what the
/// scenario gives it.
Result<RecomputeReport> recomputed(StateStore& store,
                                   const std::string& scenario,
                                   const std::string& recorded_policy) {
  auto loaded = open_scenario(scenario, {});
  if (!loaded) return loaded.errors();
  const std::string name = recorded_policy.substr(0, recorded_policy.find('/'));
  const Status chosen = choose_policy(loaded->scenario, name, "the journal");
  if (!chosen) return chosen.errors();
  const auto policy = fresh_policy(loaded->scenario, loaded->workload.profiles());
  if (!policy) return policy.errors();
  return recompute(store, **policy);
}

std::string json_of(const Verified& journal, const RecomputeReport* plans) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("records", journal.end.last.value);
  json.field("chain", journal.end.chain.to_hex()).field("state_digest", journal.state_digest);
  json.field("policy", journal.policy);
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

std::string text_of(const Verified& journal, const RecomputeReport* plans) {
  std::string out = std::to_string(journal.end.last.value) + " records, whole\nchain " +
                    journal.end.chain.to_hex() + "\nstate " + journal.state_digest + "\npolicy " +
                    journal.policy + "\n";
  if (plans == nullptr) return out;
  out += std::to_string(plans->plans) + " plans asked again, " + std::to_string(plans->different) +
         " different\n";
  for (const std::string& difference : plans->first_differences) out += "  " + difference + "\n";
  return out;
}

}  // namespace

ExitCode run_journal_dump(const Arguments& arguments, Console& console) {
  const auto store = SqliteStore::open(arguments.operands().front(), SqliteStore::Access::ReadOnly);
  if (!store) {
    console.errors(store.errors());
    return ExitCode::BadInput;
  }
  constexpr std::size_t kFlushBytes = 1 << 16;
  std::string text;
  const auto end =
      read_journal(**store, Sequence{1}, Digest{}, [&](Sequence sequence, const Event& event) {
        text += event_json(sequence.value, event) + "\n";
        if (text.size() >= kFlushBytes) {
          console.out(text);
          text.clear();
        }
        return !interrupted();
      });
  console.out(text);
  if (interrupted()) return ExitCode::Interrupted;
  if (end) return ExitCode::Met;
  console.errors(end.errors());
  return ExitCode::BadInput;
}

ExitCode run_journal_verify(const Arguments& arguments, Console& console) {
  const auto store = SqliteStore::open(arguments.operands().front(), SqliteStore::Access::ReadOnly);
  if (!store) {
    console.errors(store.errors());
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
