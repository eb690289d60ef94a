// Journals of plain texts, for stores of any kind.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/driver/state_store.hpp"

namespace orrery::runtime {

/// A journal of records whose texts are "payload 1", "payload 2", ...
class Payloads {
 public:
  /// Appends records `last + 1` to `last + count`.
  Status append(StateStore& store, std::uint64_t count) {
    texts_.clear();
    std::vector<StoredRecord> records;
    for (std::uint64_t i = 0; i < count; ++i) texts_.push_back(text(next_ + i));
    for (const std::string& bytes : texts_) {
      Digester digester(chain_);
      digester.update(bytes);
      chain_ = digester.finish();
      records.push_back({Sequence{next_++}, chain_, std::as_bytes(std::span(bytes))});
    }
    return store.append(epoch, records);
  }

  static std::string text(std::uint64_t n) { return "payload " + std::to_string(n); }

  Digest chain() const { return chain_; }

  Epoch epoch{1};  ///< Of the leader that appends.

 private:
  std::uint64_t next_ = 1;
  Digest chain_;
  std::vector<std::string> texts_;
};

/// Reads all records and checks their texts; the count of the sound ones, and the error if any.
struct ReadBack {
  std::uint64_t sound = 0;
  std::string error;
};

inline ReadBack read_all(StateStore& store) {
  ReadBack back;
  const Status read = store.read_from(Sequence{1}, [&](const StoredRecord& record) {
    const std::string text(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size());
    EXPECT_EQ(text, Payloads::text(record.sequence.value));
    ++back.sound;
    return true;
  });
  if (!read) back.error = read.errors()[0].text();
  return back;
}

}  // namespace orrery::runtime
