// The journal in etcd, for several controllers of which one leads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/driver/state_store.hpp"
#include "runtime/election/election.hpp"
#include "runtime/etcd/etcd_client.hpp"
#include "runtime/etcd/journal_keys.hpp"

namespace orrery::runtime {

struct EtcdStoreOptions {
  /// As that of the election.
  std::string prefix = "/orrery/default";

  /// The largest value that is put, in bytes; 1,000 at least. etcd takes requests of 1.5 MiB.
  std::size_t value_bytes_max = std::size_t{900} << 10;

  /// What one transaction puts at most, in bytes and in keys beside the tail.
  std::size_t transaction_bytes_max = std::size_t{1200} << 10;
  std::size_t transaction_keys_max = 100;

  /// Records that are collected for one group; it is committed when it is full.
  std::uint64_t group_max = 1000;
};

/// A StateStore in etcd, in chunks under its limits. `append` collects records, which `sync`, a
/// snapshot or a full group commits. Every write is a transaction that compares the leader's key
/// with the leadership that was won, and the journal's tail with the one that was read: a leader
/// that was succeeded, or whose lease ran out, is refused with ErrorCode::Conflict, whatever it
/// believes. A group that is larger than one transaction becomes durable part by part, in order.
///
/// A write whose answer was lost is tried again at another member; the tail tells whether it had
/// been done. A snapshot counts once its manifest is there, which is written last. Two snapshots
/// are kept; the records that the older of the two contains are deleted with a newer one, and etcd
/// is compacted, all of it: watches of other programs on the same members must resume as after any
/// compaction.
///
/// Reading checks all digests, as SqliteStore does. After a failed write the store refuses
/// everything but reading; open it anew. Not shared between threads.
class EtcdStore final : public StateStore {
 public:
  /// Snapshots that are kept.
  static constexpr std::size_t kSnapshotsKept = 2;

  /// Opens the journal of a leadership that was won, or, where there is none, for reading. An empty
  /// prefix is an empty journal. `client` outlives the store. Refuses a newer layout or newer
  /// records, and a damaged tail.
  static Result<std::unique_ptr<EtcdStore>> open(EtcdClient& client,
                                                 std::optional<Leadership> leadership,
                                                 EtcdStoreOptions options = {});

  EtcdStore(const EtcdStore&) = delete;
  EtcdStore& operator=(const EtcdStore&) = delete;

  /// Commits what is open; what fails then is as after a crash. Call `sync` to learn of it.
  ~EtcdStore() override;

  Status append(Epoch writer, std::span<const StoredRecord> records) override;

  Sequence durable() const override { return tail_.last; }

  Status sync() override;

  /// Records that are deleted are an error that says where reading can begin.
  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override;

  Status save_snapshot(const StoredSnapshot& snapshot) override;

  Result<std::optional<StoredSnapshot>> latest_snapshot() override;

  /// The last record appended; 0 where none.
  Sequence last() const { return last_; }

  /// Records up to this one are deleted; 0 where all are there.
  Sequence pruned() const { return tail_.pruned; }

  /// The chain after the last record: where a driver goes on.
  Digest last_chain() const { return chain_; }

 private:
  EtcdStore(EtcdClient& client, std::optional<Leadership> leadership, EtcdStoreOptions options);

  Status read_tail();
  Status refuse_if_broken() const;
  Status fail(const Errors& cause);
  Error error(std::string subject, std::string message) const;

  Status commit_group();
  Status commit(std::vector<EtcdOperation> operations, EtcdTail tail);
  Errors why_refused(const EtcdAnswer& answer) const;
  EtcdCompare is_leading() const;

  Status write_pieces(const StoredSnapshot& snapshot, EtcdManifest& manifest);
  Status put_fenced(std::vector<EtcdOperation> operations);
  Status prune();
  Result<std::optional<EtcdTail>> tail_pruned_to(const EtcdManifest& older);
  Result<std::vector<EtcdManifest>> manifests();
  Result<StoredSnapshot> snapshot_of(const EtcdManifest& manifest);

  /// One chunk after the other, from that which begins with `first`; false from `visit` ends it.
  Status read_chunks(Sequence first, const std::function<Result<bool>(const Chunk&)>& visit);

  EtcdClient& client_;
  std::optional<Leadership> leadership_;
  EtcdStoreOptions options_;
  JournalKeys keys_;
  std::string leader_key_;
  EtcdTail tail_;                     ///< As etcd has it.
  std::int64_t tail_revision_ = 0;    ///< When it was put last; 0: never.
  std::int64_t read_revision_ = 0;    ///< Readers see one state of etcd; 0: the newest.
  Epoch writer_;                      ///< Of the last append.
  Sequence last_;                     ///< Appended.
  Digest chain_;                      ///< At the last record appended.
  std::uint16_t record_version_ = 0;  ///< The newest appended.
  std::vector<ChunkWriter> group_;    ///< What is not committed yet.
  std::optional<Errors> broken_;      ///< The failed write that ended appending.
};

}  // namespace orrery::runtime
