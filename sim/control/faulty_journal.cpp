#include "sim/control/faulty_journal.hpp"

#include <algorithm>
#include <string>

#include "core/base/coverage_mark.hpp"
#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"

namespace orrery::sim {
namespace {

Error failed(const char* what) {
  return {ErrorCode::Unavailable, {}, 0, "journal", std::string(what) + "; mend the store"};
}

}  // namespace

void FaultyJournal::advance_to(Instant now) {
  now_ = std::max(now_, now);
  if (under_way_ > durable_ && done_at_ <= now_) become_durable(under_way_);
}

void FaultyJournal::become_durable(Sequence upto) {
  under_way_ = std::max(under_way_, upto);
  if (upto <= durable_) return;
  durable_ = upto;
  drop_old_snapshots();
  if (watch_ != nullptr) watch_->on_durable(durable_);
}

// Two durable snapshots are enough; a younger one may still be lost.
void FaultyJournal::drop_old_snapshots() {
  const auto kept = std::count_if(snapshots_.begin(), snapshots_.end(), [&](const auto& snapshot) {
    return snapshot.sequence <= durable_;
  });
  if (kept > 2) snapshots_.erase(snapshots_.begin(), snapshots_.begin() + (kept - 2));
}

void FaultyJournal::truncate(std::size_t count) {
  if (count >= entries_.size()) return;
  bytes_.resize(entries_[count].begin);
  entries_.resize(count);
  std::erase_if(snapshots_, [&](const auto& snapshot) { return snapshot.sequence > last(); });
}

void FaultyJournal::lose_tail(TailLoss loss) {
  const std::size_t before = entries_.size();
  std::size_t safe = durable_.value;
  const std::size_t pending = entries_.size() - safe;
  std::size_t kept = 0;
  if (loss == TailLoss::None) kept = pending;
  if (loss == TailLoss::Prefix || loss == TailLoss::Torn) kept = random_.below(pending + 1);
  if (planted(Bug::StoreLosesTail) && kept == 0 && safe > 0) --safe;
  const bool torn = loss == TailLoss::Torn && kept < pending;
  truncate(safe + kept + (torn ? 1 : 0));
  if (safe + kept < before) reached(Mark::StoreTailLost);
  if (torn) {
    reached(Mark::StoreTornRecord);
    entries_.back().size /= 2;
    bytes_.resize(entries_.back().begin + entries_.back().size);
  }
  durable_ = under_way_ = std::min(durable_, last());
  settled_ = true;
  if (watch_ != nullptr && safe + kept < before) watch_->on_lost(Sequence{safe + kept});
}

// What a real store does when it opens: a last record whose bytes do not give its digest was cut
// off by the crash, and was never acknowledged.
void FaultyJournal::drop_torn_record() {
  if (entries_.size() == durable_.value || planted(Bug::StoreKeepsTornRecord)) return;
  const Entry& entry = entries_.back();
  Digester digester(entries_.size() > 1 ? entries_[entries_.size() - 2].chain : Digest{});
  digester.update(std::span<const std::byte>(bytes_.data() + entry.begin, entry.size));
  if (digester.finish() != entry.chain) truncate(entries_.size() - 1);
}

std::size_t FaultyJournal::open_session(LeaderNumber leader) {
  if (!sessions_.empty()) sessions_.back().durable = durable_;
  // The session before may still run: what it had under way has arrived, or never will.
  if (!settled_ && last() > durable_) lose_tail(TailLoss::Prefix);
  drop_torn_record();
  settled_ = false;
  sessions_.push_back({leader, durable_});
  become_durable(last());
  return sessions_.size() - 1;
}

Sequence FaultyJournal::durable_of(std::size_t session) const {
  if (planted(Bug::StoreTellsDurableEarly) && is_current(session)) return last();
  return is_current(session) ? durable_ : sessions_[session].durable;
}

Status FaultyJournal::refuse(std::size_t session, Epoch writer) const {
  if (is_current(session)) return Done{};
  if (writer < leader_) return deposed({}, writer, leader_);
  return Error{ErrorCode::Conflict,
               {},
               0,
               "journal",
               "another leader has opened it; end this controller, the other one goes on"};
}

Status FaultyJournal::append(std::size_t session,
                             Epoch writer,
                             std::span<const StoredRecord> records) {
  const bool checked = !planted(Bug::StoreAcceptsDeposed);
  if (checked)
    if (Status refused = refuse(session, writer); !refused) return refused;
  if (faults_.appends_fail) return failed("the disk takes no more records");
  leader_ = std::max(leader_, writer);
  for (const StoredRecord& record : records) {
    if (checked && record.sequence != last().next())
      return Error{
          ErrorCode::Conflict,
          {},
          0,
          "record " + std::to_string(record.sequence.value),
          "the next record is " + std::to_string(last().value + 1) + "; append without gaps"};
    entries_.push_back({record.chain,
                        bytes_.size(),
                        static_cast<std::uint32_t>(record.bytes.size()),
                        record.version});
    bytes_.insert(bytes_.end(), record.bytes.begin(), record.bytes.end());
    if (watch_ != nullptr) watch_->on_appended(sessions_[session].leader, writer, record);
  }
  return Done{};
}

Status FaultyJournal::sync(std::size_t session) {
  if (Status refused = refuse(session, leader_); !refused) return refused;
  if (faults_.syncs_fail) return failed("the disk does not finish writing");
  commit();
  return Done{};
}

void FaultyJournal::commit() {
  // After a crash nothing is written until the tail was read.
  if (settled_ || faults_.syncs_fail || under_way_ > durable_) return;
  if (faults_.latency == Duration::zero()) {
    become_durable(last());
  } else if (last() > durable_) {
    under_way_ = last();
    done_at_ = now_ + faults_.latency;
  }
}

Status FaultyJournal::read_from(Sequence first,
                                const std::function<bool(const StoredRecord&)>& visit) const {
  for (std::size_t i = first.value == 0 ? 0 : first.value - 1; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const std::span<const std::byte> bytes(bytes_.data() + entry.begin, entry.size);
    if (!visit({Sequence{i + 1}, entry.chain, bytes, entry.version})) break;
  }
  return Done{};
}

Status FaultyJournal::save_snapshot(std::size_t session, const StoredSnapshot& snapshot) {
  if (Status refused = refuse(session, leader_); !refused) return refused;
  if (faults_.appends_fail) return failed("the disk takes no snapshot");
  invariant(snapshot.sequence <= last(), "a snapshot follows its records");
  snapshots_.push_back(snapshot);
  if (watch_ != nullptr) watch_->on_snapshot(sessions_[session].leader, snapshot);
  drop_old_snapshots();
  return sync(session);
}

std::optional<StoredSnapshot> FaultyJournal::latest_snapshot() const {
  if (snapshots_.empty()) return std::nullopt;
  StoredSnapshot newest = snapshots_.back();
  if (planted(Bug::StoreOldSnapshot) && snapshots_.size() > 1)
    newest.bytes = snapshots_[snapshots_.size() - 2].bytes;
  return newest;
}

}  // namespace orrery::sim
