#include "core/driver/memory_store.hpp"

namespace orrery {

Status MemoryStore::append(Epoch writer, std::span<const StoredRecord> records) {
  if (writer < leader_) return deposed({}, writer, leader_);
  leader_ = writer;
  for (const StoredRecord& record : records) {
    if (record.sequence.value != entries_.size() + 1)
      return Error{ErrorCode::Conflict,
                   {},
                   0,
                   "journal",
                   "record " + std::to_string(record.sequence.value) + " does not follow record " +
                       std::to_string(entries_.size()) + "; append without gaps"};
    entries_.push_back({record.chain,
                        bytes_.size(),
                        static_cast<std::uint32_t>(record.bytes.size()),
                        record.version});
    bytes_.insert(bytes_.end(), record.bytes.begin(), record.bytes.end());
  }
  return Done{};
}

Status MemoryStore::read_from(Sequence first,
                              const std::function<bool(const StoredRecord&)>& visit) {
  for (std::size_t i = first.value == 0 ? 0 : first.value - 1; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const std::span<const std::byte> bytes(bytes_.data() + entry.begin, entry.size);
    if (!visit({Sequence{i + 1}, entry.chain, bytes, entry.version})) break;
  }
  return Done{};
}

Status MemoryStore::save_snapshot(const StoredSnapshot& snapshot) {
  snapshot_ = snapshot;
  return Done{};
}

}  // namespace orrery
