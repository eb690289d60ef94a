#include "core/driver/replay.hpp"

#include "core/base/coverage_mark.hpp"
#include "core/base/planted.hpp"
#include "core/control/state_view.hpp"
#include "core/driver/planner.hpp"
#include "core/placer/registry.hpp"
#include "core/record/codec.hpp"

namespace orrery {
namespace {

constexpr std::size_t kDifferencesMax = 10;

Error broken(Sequence at, const std::string& message) {
  return {ErrorCode::InvalidInput, {}, 0, "journal record " + std::to_string(at.value), message};
}

Error newer(Sequence at, const std::string& what, std::uint16_t version) {
  return broken(at,
                what + " was written by a newer program: record version " +
                    std::to_string(version) + ", this one reads up to " +
                    std::to_string(kRecordVersion) + "; upgrade the program");
}

std::string no_such_placer(const std::string& name) {
  return "names the placer " + name + ", this program has " + placers::names_text() +
         "; use the program that wrote the journal, or a newer one";
}

/// A plan as recorded, without what it was good for.
struct Asked {
  Sequence record;
  PlanProposed proposal;
};

std::string describe(const Asked& asked, const Plan& now) {
  return "record " + std::to_string(asked.record.value) + ": " +
         std::to_string(asked.proposal.plan.grants.size()) + " grants recorded, " +
         std::to_string(now.grants.size()) + " now, on the view after record " +
         std::to_string(asked.proposal.view.value);
}

}  // namespace

Result<JournalEnd> read_journal(StateStore& store,
                                Sequence first,
                                Digest chain,
                                const std::function<bool(Sequence, const Event&)>& visit) {
  JournalEnd end{Sequence{first.value - 1}, chain, 0};
  Errors errors;
  const Status read = store.read_from(first, [&](const StoredRecord& record) {
    if (record.sequence != end.last.next()) {
      errors.push_back(broken(end.last.next(),
                              "is missing: the next one is " +
                                  std::to_string(record.sequence.value) +
                                  "; restore the file from a copy"));
      return false;
    }
    Digester digester(end.chain);
    digester.update(record.bytes);
    if (digester.finish() != record.chain) {
      errors.push_back(broken(record.sequence,
                              "its bytes do not give its chain digest: the file was damaged or "
                              "edited; restore it from a copy"));
      return false;
    }
    if (record.version > kRecordVersion) {
      errors.push_back(newer(record.sequence, "it", record.version));
      return false;
    }
    ByteReader bytes(record.bytes);
    Event event;
    if (!decode(bytes, record.version, event) || !bytes.finished()) {
      errors.push_back(broken(record.sequence,
                              "is no event of version " + std::to_string(record.version) +
                                  ", which it claims to be; use the program that wrote the "
                                  "journal"));
      return false;
    }
    end.last = record.sequence;
    end.chain = record.chain;
    ++end.replayed;
    return visit(record.sequence, event);
  });
  if (!read) return read.errors();
  if (!errors.empty()) return errors;
  return end;
}

Result<JournalEnd> replay(StateStore& store, Controller& controller) {
  Result<std::optional<StoredSnapshot>> snapshot = store.latest_snapshot();
  if (!snapshot) return snapshot.errors();
  Sequence first{1};
  Digest chain;
  if (*snapshot) {
    const StoredSnapshot& from = **snapshot;
    if (from.version > kRecordVersion) return newer(from.sequence, "the snapshot", from.version);
    ByteReader bytes(from.bytes);
    if (!controller.load(bytes, from.version) || !bytes.finished())
      return broken(from.sequence,
                    "the snapshot cannot be read; delete it to replay from the start");
    if (controller.state().sequence != from.sequence)
      return broken(from.sequence,
                    "the snapshot holds the state after record " +
                        std::to_string(controller.state().sequence.value) +
                        "; delete it to replay from the start");
    if (const std::string& placer = controller.state().settings.placer; !placers::is_known(placer))
      return broken(from.sequence, "in the snapshot " + no_such_placer(placer));
    reached(Mark::SnapshotReplayed);
    first = from.sequence.next();
    chain = from.chain;
  }
  const Sequence snapshot_at{first.value - 1};
  Commands unused;
  Errors unknown;
  Result<JournalEnd> end = read_journal(store, first, chain, [&](Sequence at, const Event& event) {
    if (planted(Bug::ReplaySkipsRecord) && at == store.durable()) return true;
    if (const auto* epoch = std::get_if<EpochStarted>(&event.body))
      if (!placers::is_known(epoch->settings.placer))
        unknown.push_back(broken(at, no_such_placer(epoch->settings.placer)));
    if (!unknown.empty()) return false;
    unused.clear();
    controller.step(event, unused);
    return true;
  });
  if (!end) return end;
  if (!unknown.empty()) return unknown;
  end->snapshot = snapshot_at;
  controller.resume();
  return end;
}

Result<RecomputeReport> recompute(StateStore& store, Policy& policy) {
  std::vector<Asked> asked;
  std::string recorded_policy;
  std::uint64_t epochs = 0;
  const Result<JournalEnd> listed =
      read_journal(store, Sequence{1}, Digest{}, [&](Sequence at, const Event& event) {
        if (const auto* epoch = std::get_if<EpochStarted>(&event.body)) {
          recorded_policy = epoch->settings.policy;
          if (++epochs > 1) return false;  // A new leader's policy began with a state of its own.
        }
        if (const auto* plan = std::get_if<PlanProposed>(&event.body)) asked.push_back({at, *plan});
        return true;
      });
  if (!listed) return listed.errors();
  if (recorded_policy != policy.name())
    return Error{ErrorCode::Conflict,
                 {},
                 0,
                 "journal",
                 "was recorded under policy '" + recorded_policy + "', '" +
                     std::string(policy.name()) + "' was given; recompute with the same policy"};
  RecomputeReport report;
  Controller controller;
  Commands unused;
  const std::vector<std::byte> beginning = saved_by(policy);
  std::vector<std::byte> saved = beginning;
  bool is_new = false;  // It was put back to what it had saved, since a plan was lost.
  const Result<JournalEnd> folded =
      read_journal(store, Sequence{1}, Digest{}, [&](Sequence at, const Event& event) {
        unused.clear();
        controller.step(event, unused);
        if (const auto* lost = std::get_if<PlanLost>(&event.body)) {
          if (lost->anew) saved = beginning;
          ByteReader in(saved);
          policy.load(in);
          is_new = true;
        }
        if (report.plans < asked.size() && asked[report.plans].proposal.view == at) {
          const Asked& next = asked[report.plans++];
          const Touched touched = controller.take_touched();
          const bool complete = touched.complete && !std::exchange(is_new, false);
          const StateView view(controller.state(), touched.jobs, complete);
          const PlanRequest request{at, next.proposal.trigger, next.proposal.job};
          const Plan now = run_policy(policy, request, view);
          if (request.trigger != PlanTrigger::Submission) saved = saved_by(policy);
          if (!(now == next.proposal.plan)) {
            ++report.different;
            if (report.first_differences.size() < kDifferencesMax)
              report.first_differences.push_back(describe(next, now));
          }
        }
        return report.plans < asked.size();
      });
  if (!folded) return folded.errors();
  return report;
}

}  // namespace orrery
