// How a journal lies in etcd: its keys, and what their values hold.
//
//   PREFIX/leader                          the leader (EtcdElection)
//   PREFIX/tail                            where the journal ends; written with every transaction
//   PREFIX/journal/FIRST[.PIECE]           records from FIRST on
//   PREFIX/snapshot/SEQUENCE.PIECE         the bytes of a snapshot
//   PREFIX/manifest/SEQUENCE               that a snapshot is whole; written after its pieces
//
// Numbers have 20 digits, those of pieces 6, so that keys sort as numbers do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/driver/state_store.hpp"
#include "core/record/codec.hpp"
#include "runtime/etcd/etcd_client.hpp"

namespace orrery::runtime {

/// Version of this layout; readers accept it and all before.
inline constexpr std::uint16_t kEtcdLayoutVersion = 1;

/// Where the journal ends.
struct EtcdTail {
  std::uint16_t layout = kEtcdLayoutVersion;
  std::uint16_t record_version = 0;  ///< The newest in the journal; 0 where it is empty.
  Sequence last;
  Digest chain;              ///< At the last record.
  Epoch leader;              ///< The highest epoch that has appended.
  Sequence pruned;           ///< Records up to this one are gone.
  Digest pruned_chain;       ///< The chain at that record.
  std::int64_t fence = 0;    ///< Of the leadership that wrote this.
  std::uint64_t writes = 0;  ///< Transactions of the journal so far: no two tails are equal.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("layout", self.layout);
    v.field("record_version", self.record_version);
    v.field("last", self.last);
    v.field("chain", self.chain);
    v.field("leader", self.leader);
    v.field("pruned", self.pruned);
    v.field("pruned_chain", self.pruned_chain);
    v.field("fence", self.fence);
    v.field("writes", self.writes);
  }
};

/// That a snapshot is whole, and what its pieces give together.
struct EtcdManifest {
  Sequence sequence;
  Digest chain;
  std::uint16_t version = 0;  ///< Record version of the program that wrote it.
  std::uint32_t pieces = 0;
  Digest content;  ///< Of the snapshot's bytes.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("sequence", self.sequence);
    v.field("chain", self.chain);
    v.field("version", self.version);
    v.field("pieces", self.pieces);
    v.field("content", self.content);
  }
};

/// The keys of one journal.
class JournalKeys {
 public:
  explicit JournalKeys(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string tail() const { return prefix_ + "/tail"; }

  /// Of the records from `first` on; `piece` 0 is the first of their pieces.
  std::string records(Sequence first, std::size_t piece = 0) const;
  std::string snapshot(Sequence at, std::size_t piece) const;
  std::string manifest(Sequence at) const;

  /// Keys of the chunks that begin at `first` or later, or before `end`.
  EtcdRange records_from(Sequence first) const;
  EtcdRange records_before(Sequence end) const;

  EtcdRange all_manifests() const;
  EtcdRange manifests_before(Sequence end) const;

  /// Pieces of one snapshot, and of all between two, neither included.
  EtcdRange snapshot_pieces(Sequence at) const;
  EtcdRange snapshots_before(Sequence end) const;
  EtcdRange snapshots_between(Sequence low, Sequence high) const;

  /// The number in a key of records, of a snapshot or a manifest.
  struct Number {
    Sequence sequence;
    std::size_t piece = 0;
  };

  std::optional<Number> number_in(std::string_view key) const;

 private:
  std::string prefix_;
};

/// A value with a digest at its end.
std::string sealed(std::string_view bytes);

/// The bytes before the digest; none where it does not fit them.
std::optional<std::string_view> unsealed(std::string_view value);

template <class Record>
std::string sealed_record(const Record& record) {
  ByteWriter bytes;
  Encoder(bytes).put(record);
  return sealed(bytes.text());
}

template <class Record>
std::optional<Record> record_in(std::string_view value) {
  const std::optional<std::string_view> bytes = unsealed(value);
  if (!bytes) return std::nullopt;
  ByteReader in(*bytes);
  Decoder decoder(in);
  Record out;
  decoder.get(out);
  if (!decoder.ok() || !in.finished()) return std::nullopt;
  return out;
}

/// Collects records for one chunk.
class ChunkWriter {
 public:
  /// What a record and a chunk add to the records' own bytes, at most.
  static constexpr std::size_t kOverheadMax = 128;

  explicit ChunkWriter(Sequence first, const Digest& before);

  void add(const StoredRecord& record);

  Sequence first() const { return first_; }

  Sequence last() const { return last_; }

  const Digest& chain() const { return chain_; }

  std::size_t size() const { return bytes_.size(); }

  /// In pieces of at most `piece_max` bytes, 8 at least.
  std::vector<std::string> pieces(std::size_t piece_max) const;

 private:
  Sequence first_;
  Sequence last_;
  Digest chain_;
  ByteWriter bytes_;
};

/// A chunk that is read back.
struct Chunk {
  Sequence first;
  Digest before;                      ///< The chain before its first record.
  std::vector<StoredRecord> records;  ///< Views into the chunk's bytes.
};

/// Puts chunks together again from their pieces, in the order of their keys.
class ChunkReader {
 public:
  /// False where the piece does not go on where the one before ended, or a chunk is damaged. Pieces
  /// behind the end of a chunk are passed over: a longer chunk that was never finished left them.
  bool add(const JournalKeys::Number& number, std::string_view piece);

  /// The chunk that the last piece has completed; null where it has not. Valid until the next.
  const Chunk* chunk() const { return complete_ ? &chunk_ : nullptr; }

 private:
  bool read();

  Sequence first_;
  std::size_t next_piece_ = 0;
  std::uint64_t size_ = 0;
  std::string bytes_;
  Chunk chunk_;
  bool complete_ = false;
};

}  // namespace orrery::runtime
