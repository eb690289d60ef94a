#include "sim/explore/explored_journal.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/record/codec.hpp"

namespace orrery::sim {

void ExploredJournal::open(LeaderNumber leader, std::size_t kept) {
  cut(durable_ + kept);
  commit();
  leader_ = leader;
}

void ExploredJournal::crash(std::size_t kept) {
  cut(durable_ + kept);
  leader_ = LeaderNumber{};
}

void ExploredJournal::commit() { fold_to(records_.size()); }

void ExploredJournal::cut(std::size_t count) {
  invariant(count >= durable_ && count <= records_.size(), "only what is not durable is lost");
  records_.resize(count);
}

void ExploredJournal::fold_to(std::size_t count) {
  if (count == durable_) return;
  auto folded = std::make_shared<Controller>(*folded_);
  Commands commands;
  for (; durable_ < count; ++durable_) {
    const Record& record = *records_[durable_];
    ByteReader bytes(record.bytes);
    Event event;
    invariant(decode(bytes, record.version, event), "a record that was appended can be read");
    commands.clear();
    folded->step(event, commands);
  }
  folded_ = std::move(folded);
}

Status ExploredJournal::append(LeaderNumber leader,
                               Epoch writer,
                               std::span<const StoredRecord> records) {
  if (!is_of(leader)) return deposed({}, writer, epoch_);
  epoch_ = std::max(epoch_, writer);
  for (const StoredRecord& record : records) {
    if (record.sequence != last().next())
      return Error{ErrorCode::Conflict,
                   {},
                   0,
                   "record " + std::to_string(record.sequence.value),
                   "the next record is " + std::to_string(last().value + 1)};
    records_.push_back(std::make_shared<const Record>(
        Record{{record.bytes.begin(), record.bytes.end()}, record.version}));
  }
  return Done{};
}

Status ExploredJournal::read_from(Sequence first,
                                  const std::function<bool(const StoredRecord&)>& visit) const {
  Digest chain;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& record = *records_[i];
    Digester digester(chain);
    digester.update(record.bytes);
    chain = digester.finish();
    const Sequence sequence{i + 1};
    if (sequence >= first && !visit({sequence, chain, record.bytes, record.version})) break;
  }
  return Done{};
}

void ExploredJournal::save(ByteWriter& out) const {
  Encoder encoder(out);
  encoder.put(folded_->digest());
  encoder.put(epoch_);
  encoder.put(leader_);
  out.varint(not_durable());
  for (std::size_t i = durable_; i < records_.size(); ++i) {
    out.varint(records_[i]->bytes.size());
    out.raw(records_[i]->bytes);
  }
}

}  // namespace orrery::sim
