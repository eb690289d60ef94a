#include "sim/storm/journal_check.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/record/codec.hpp"

namespace orrery::sim {
namespace {

std::string record_text(Sequence sequence) { return "record " + std::to_string(sequence.value); }

}  // namespace

const Event* JournalCheck::appended(Instant now, Epoch writer, const JournalBytes& record) {
  const Sequence expected{records_.size() + 1};
  if (record.sequence != expected) {
    found_.add(ViolationKind::JournalBroken,
               now,
               record_text(record.sequence) + " was appended after " + record_text(last()));
    return nullptr;
  }
  const Known before = records_.empty() ? Known{} : records_.back();
  Digester digester(before.chain);
  digester.update(record.bytes);
  if (digester.finish() != record.chain)
    found_.add(ViolationKind::JournalBroken,
               now,
               record_text(record.sequence) + " does not carry the digest of the chain before it");
  ByteReader in(record.bytes);
  event_ = Event{};
  const bool readable = decode(in, kRecordVersion, event_) && in.finished();
  if (!readable)
    found_.add(ViolationKind::JournalBroken, now, record_text(record.sequence) + " is no event");
  if (event_.at < before.at)
    found_.add(ViolationKind::JournalBroken,
               now,
               record_text(record.sequence) + " was observed before the one before it");
  records_.push_back({record.chain, std::max(event_.at, before.at), before.epoch});
  if (!readable) return nullptr;
  if (const auto* begun = std::get_if<EpochStarted>(&event_.body)) check_epoch(now, *begun);
  if (writer != records_.back().epoch)
    found_.add(ViolationKind::DeposedWrote,
               now,
               "the leader of epoch " + std::to_string(writer.value) + " appended " +
                   record_text(record.sequence) + " in epoch " +
                   std::to_string(records_.back().epoch.value));
  if (const auto* job = std::get_if<JobSubmitted>(&event_.body))
    // A client that repeats itself was accepted, or not, the first time.
    if (job->request != 0) submissions_.emplace(job->request, record.sequence);
  return &event_;
}

void JournalCheck::check_epoch(Instant now, const EpochStarted& begun) {
  Known& here = records_.back();
  if (begun.epoch <= here.epoch)
    found_.add(ViolationKind::EpochNotRaised,
               now,
               "epoch " + std::to_string(begun.epoch.value) + " begins after epoch " +
                   std::to_string(here.epoch.value));
  here.epoch = begun.epoch;
}

void JournalCheck::crashed(Instant now, Sequence last) {
  if (last < durable_)
    found_.add(ViolationKind::JournalLost,
               now,
               "a crash left " + record_text(last) + " as the last, although " +
                   record_text(durable_) + " was called durable");
  if (last.value < records_.size()) records_.resize(last.value);
  std::erase_if(submissions_, [&](const auto& entry) { return entry.second > last; });
}

Epoch JournalCheck::epoch_at(Sequence sequence) const {
  if (sequence.value == 0 || records_.empty()) return {};
  return records_[std::min<std::size_t>(sequence.value, records_.size()) - 1].epoch;
}

void JournalCheck::released(Instant now, const Command& order) {
  const auto name = [&] {
    return std::string(kind_name(order.body)) + " of " + record_text(order.sequence);
  };
  if (order.sequence > durable_)
    found_.add(ViolationKind::ActBeforeDurable,
               now,
               name() + " went out while " + record_text(durable_) + " was the last durable one");
  if (order.epoch != epoch_at(order.sequence))
    found_.add(ViolationKind::WrongEpoch,
               now,
               name() + " carries epoch " + std::to_string(order.epoch.value) +
                   ", its record was written in epoch " +
                   std::to_string(epoch_at(order.sequence).value));
  if (const auto* answer = std::get_if<AnswerRequest>(&order.body))
    check_answer(now, order, *answer);
}

void JournalCheck::check_answer(Instant now, const Command& order, const AnswerRequest& answer) {
  if (!answer.accepted || answer.request == 0 || answer.job.is_none()) return;
  const auto submitted = submissions_.find(answer.request);
  if (submitted == submissions_.end()) return;  // Another kind of request.
  if (submitted->second > durable_)
    found_.add(ViolationKind::JobVanished,
               now,
               "request " + std::to_string(answer.request) + " was accepted by " +
                   record_text(order.sequence) + ", its own is not durable");
  const auto [known, fresh] = accepted_.emplace(answer.request, answer.job);
  if (!fresh && known->second != answer.job)
    found_.add(ViolationKind::AcceptedTwice,
               now,
               "request " + std::to_string(answer.request) + " was accepted as job " +
                   std::to_string(known->second.value) + " and as job " +
                   std::to_string(answer.job.value));
}

}  // namespace orrery::sim
