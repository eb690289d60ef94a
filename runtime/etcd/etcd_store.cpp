#include "runtime/etcd/etcd_store.hpp"

#include <algorithm>
#include <utility>

namespace orrery::runtime {
namespace {

constexpr std::int64_t kPairsPerRead = 8;  // Of values up to a MiB.

std::string name_of(Sequence sequence) { return "record " + std::to_string(sequence.value); }

std::string name_of_snapshot(Sequence sequence) {
  return "snapshot " + std::to_string(sequence.value);
}

Digest chained(const Digest& before, std::span<const std::byte> bytes) {
  Digester digester(before);
  digester.update(bytes);
  return digester.finish();
}

Digest digest_of(std::span<const std::byte> bytes) {
  Digester digester;
  digester.update(bytes);
  return digester.finish();
}

std::size_t size_of(const EtcdOperation& operation) {
  const auto* put = std::get_if<EtcdPut>(&operation);
  return put == nullptr ? 0 : put->value.size() + put->key.size();
}

}  // namespace

Result<std::unique_ptr<EtcdStore>> EtcdStore::open(EtcdClient& client,
                                                   std::optional<Leadership> leadership,
                                                   EtcdStoreOptions options) {
  std::unique_ptr<EtcdStore> store(new EtcdStore(client, leadership, std::move(options)));
  if (Status read = store->read_tail(); !read) return read.errors();
  return store;
}

EtcdStore::EtcdStore(EtcdClient& client,
                     std::optional<Leadership> leadership,
                     EtcdStoreOptions options)
    : client_(client),
      leadership_(leadership),
      options_(std::move(options)),
      keys_(options_.prefix),
      leader_key_(options_.prefix + "/leader") {}

EtcdStore::~EtcdStore() {
  // A destructor cannot report an error; a caller that must know has called sync().
  if (!group_.empty()) static_cast<void>(sync());
}

Status EtcdStore::read_tail() {
  const Result<EtcdAnswer> read = client_.read(EtcdRange::key(keys_.tail()));
  if (!read) return read.errors();
  read_revision_ = leadership_ ? 0 : read->revision;
  if (!read->pairs.empty()) {
    const auto tail = record_in<EtcdTail>(read->pairs[0].value);
    if (!tail)
      return error("tail",
                   "its bytes do not give its digest, so it is damaged; restore the cluster of "
                   "etcd from a copy");
    if (tail->layout > kEtcdLayoutVersion || tail->record_version > kRecordVersion)
      return error("journal",
                   "it has layout " + std::to_string(tail->layout) + " and records of version " +
                       std::to_string(tail->record_version) + ", this program reads up to " +
                       std::to_string(kEtcdLayoutVersion) + " and " +
                       std::to_string(kRecordVersion) + "; use a newer orrery");
    tail_ = *tail;
    tail_revision_ = read->pairs[0].mod_revision;
  }
  writer_ = tail_.leader;
  last_ = tail_.last;
  chain_ = tail_.chain;
  record_version_ = tail_.record_version;
  return Done{};
}

Error EtcdStore::error(std::string subject, std::string message) const {
  return {ErrorCode::InvalidInput,
          client_.name() + " " + options_.prefix,
          0,
          std::move(subject),
          std::move(message)};
}

Status EtcdStore::refuse_if_broken() const {
  if (broken_) return *broken_;
  if (!leadership_)
    return error("journal", "it was opened for reading; win the election before you append");
  return Done{};
}

/// Gives the open group up and refuses to append from now on.
Status EtcdStore::fail(const Errors& cause) {
  broken_ = cause;
  group_.clear();
  last_ = tail_.last;
  chain_ = tail_.chain;
  return cause;
}

Status EtcdStore::append(Epoch writer, std::span<const StoredRecord> records) {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  if (writer < tail_.leader) return deposed(client_.name(), writer, tail_.leader);
  Sequence expected = last_;
  for (const StoredRecord& record : records) {
    expected = expected.next();
    if (record.sequence != expected) {
      Error gap =
          error(name_of(record.sequence),
                "the next record is " + std::to_string(expected.value) + "; append without gaps");
      gap.code = ErrorCode::Conflict;
      return gap;
    }
  }
  for (const StoredRecord& record : records) {
    const bool fits =
        !group_.empty() && group_.back().size() + record.bytes.size() + ChunkWriter::kOverheadMax <=
                               options_.value_bytes_max;
    if (!fits) group_.emplace_back(record.sequence, chain_);
    group_.back().add(record);
    last_ = record.sequence;
    chain_ = record.chain;
    record_version_ = std::max(record_version_, record.version);
  }
  writer_ = writer;
  if (last_.value - tail_.last.value >= options_.group_max) return sync();
  return Done{};
}

Status EtcdStore::sync() {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  return group_.empty() ? Status(Done{}) : commit_group();
}

/// In as few transactions as etcd's limits allow; each leaves a sound journal.
Status EtcdStore::commit_group() {
  EtcdTail tail = tail_;
  std::vector<EtcdOperation> operations;
  std::size_t bytes = 0;
  for (const ChunkWriter& chunk : group_) {
    std::size_t number = 0;
    for (std::string& piece : chunk.pieces(options_.value_bytes_max)) {
      EtcdPut put{keys_.records(chunk.first(), number++), std::move(piece)};
      const std::size_t size = size_of(put);
      if (!operations.empty() && (bytes + size > options_.transaction_bytes_max ||
                                  operations.size() >= options_.transaction_keys_max)) {
        if (Status done = commit(std::exchange(operations, {}), tail); !done) return done;
        bytes = 0;
      }
      operations.emplace_back(std::move(put));
      bytes += size;
    }
    tail.last = chunk.last();
    tail.chain = chunk.chain();
    tail.leader = writer_;
    tail.record_version = record_version_;
  }
  if (Status done = commit(std::move(operations), tail); !done) return done;
  group_.clear();
  return Done{};
}

EtcdCompare EtcdStore::is_leading() const {
  return {leader_key_, EtcdCompare::Target::Created, leadership_->fence};
}

/// Writes `operations` and `tail` in one transaction, if we lead and the tail is as we know it.
Status EtcdStore::commit(std::vector<EtcdOperation> operations, EtcdTail tail) {
  tail.fence = leadership_->fence;
  tail.writes = tail_.writes + 1;
  const std::string value = sealed_record(tail);
  operations.emplace_back(EtcdPut{keys_.tail(), value});
  const Result<EtcdAnswer> answer = client_.commit(
      {{is_leading(), {keys_.tail(), EtcdCompare::Target::Modified, tail_revision_}},
       std::move(operations),
       {EtcdGet{EtcdRange::key(leader_key_)}, EtcdGet{EtcdRange::key(keys_.tail())}}});
  if (!answer) return fail(answer.errors());
  std::int64_t revision = answer->revision;
  if (!answer->succeeded) {
    // No two tails are equal: where ours is there, an earlier try was done and its answer lost.
    const auto ours = std::find_if(answer->pairs.begin(), answer->pairs.end(), [&](const auto& p) {
      return p.key == keys_.tail() && p.value == value;
    });
    if (ours == answer->pairs.end()) return fail(why_refused(*answer));
    revision = ours->mod_revision;
  }
  tail_ = tail;
  tail_revision_ = revision;
  return Done{};
}

/// The writer that deposed this one.
Errors EtcdStore::why_refused(const EtcdAnswer& answer) const {
  bool leads = false;
  for (const EtcdPair& pair : answer.pairs) {
    if (pair.key == leader_key_) leads = pair.create_revision == leadership_->fence;
    if (pair.key != keys_.tail()) continue;
    const auto tail = record_in<EtcdTail>(pair.value);
    if (tail && tail->leader > writer_)
      return {deposed(client_.name() + " " + options_.prefix, writer_, tail->leader)};
  }
  Error out = error("journal",
                    leads ? "another process has appended to it; let only the elected leader use it"
                          : "leadership " + std::to_string(leadership_->fence) +
                                " has ended, so its write was refused; end this controller's term "
                                "and campaign again");
  out.code = ErrorCode::Conflict;
  return {out};
}

/// Writes beside the journal, if we lead. Done twice it is the same as once.
Status EtcdStore::put_fenced(std::vector<EtcdOperation> operations) {
  const Result<EtcdAnswer> answer = client_.commit(
      {{is_leading()},
       std::move(operations),
       {EtcdGet{EtcdRange::key(leader_key_)}, EtcdGet{EtcdRange::key(keys_.tail())}}});
  if (!answer) return fail(answer.errors());
  return answer->succeeded ? Status(Done{}) : fail(why_refused(*answer));
}

Status EtcdStore::save_snapshot(const StoredSnapshot& snapshot) {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  if (snapshot.sequence > last_) {
    Error ahead = error(
        name_of_snapshot(snapshot.sequence),
        "the journal ends at record " + std::to_string(last_.value) + "; append the records first");
    ahead.code = ErrorCode::Conflict;
    return ahead;
  }
  if (Status synced = sync(); !synced) return synced;
  EtcdManifest manifest{snapshot.sequence, snapshot.chain, snapshot.version, 0, {}};
  if (Status written = write_pieces(snapshot, manifest); !written) return written;
  const std::string key = keys_.manifest(snapshot.sequence);
  if (Status told = put_fenced({EtcdPut{key, sealed_record(manifest)}}); !told) return told;
  return prune();
}

Status EtcdStore::write_pieces(const StoredSnapshot& snapshot, EtcdManifest& manifest) {
  const std::span<const std::byte> all(snapshot.bytes);
  manifest.content = digest_of(all);
  std::vector<EtcdOperation> operations;
  std::size_t bytes = 0;
  for (std::size_t begin = 0; begin < all.size(); begin += options_.value_bytes_max) {
    const auto piece = all.subspan(begin, std::min(options_.value_bytes_max, all.size() - begin));
    if (!operations.empty() && (bytes + piece.size() > options_.transaction_bytes_max ||
                                operations.size() >= options_.transaction_keys_max)) {
      if (Status put = put_fenced(std::exchange(operations, {})); !put) return put;
      bytes = 0;
    }
    operations.emplace_back(
        EtcdPut{keys_.snapshot(snapshot.sequence, manifest.pieces++),
                std::string(reinterpret_cast<const char*>(piece.data()), piece.size())});
    bytes += piece.size();
  }
  return operations.empty() ? Status(Done{}) : put_fenced(std::move(operations));
}

/// Deletes what two whole snapshots have made needless, and has etcd forget it.
Status EtcdStore::prune() {
  const Result<std::vector<EtcdManifest>> kept = manifests();
  if (!kept) return kept.errors();
  if (kept->size() < kSnapshotsKept) return Done{};
  const EtcdManifest& older = (*kept)[kept->size() - kSnapshotsKept];
  const EtcdManifest& newest = kept->back();
  std::vector<EtcdOperation> operations{
      EtcdDelete{keys_.manifests_before(older.sequence)},
      EtcdDelete{keys_.snapshots_before(older.sequence)},
      EtcdDelete{keys_.snapshots_between(older.sequence, newest.sequence)}};
  const Result<std::optional<EtcdTail>> pruned = tail_pruned_to(older);
  if (!pruned) return pruned.errors();
  if (*pruned) operations.emplace_back(EtcdDelete{keys_.records_before((*pruned)->pruned.next())});
  if (Status done = commit(std::move(operations), pruned->value_or(tail_)); !done) return done;
  // What fails here is made good with the next snapshot; a quota that is used up ends the next
  // write.
  static_cast<void>(client_.compact(tail_revision_));
  return Done{};
}

/// The tail once the chunks that `older` contains are deleted; none where there are no such. A
/// chunk that `older` ends within stays whole.
Result<std::optional<EtcdTail>> EtcdStore::tail_pruned_to(const EtcdManifest& older) {
  const Sequence behind = older.sequence.next();
  const Result<EtcdAnswer> read =
      client_.read(keys_.records_before(behind.next()), {.keys_only = true});
  if (!read) return read.errors();
  Sequence begin;
  for (const EtcdPair& pair : read->pairs)
    if (const auto number = keys_.number_in(pair.key)) begin = std::max(begin, number->sequence);
  if (begin <= tail_.pruned.next()) return std::optional<EtcdTail>{};
  EtcdTail tail = tail_;
  tail.pruned = Sequence{begin.value - 1};
  tail.pruned_chain = older.chain;
  if (begin == behind) return std::optional<EtcdTail>(tail);
  Status found = error(name_of(begin), "it is missing; restore the cluster of etcd from a copy");
  const Status chunks = read_chunks(begin, [&](const Chunk& chunk) {
    tail.pruned_chain = chunk.before;
    found = Done{};
    return Result<bool>(false);
  });
  if (!chunks) return chunks.errors();
  if (!found) return found.errors();
  return std::optional<EtcdTail>(tail);
}

Status EtcdStore::read_chunks(Sequence first,
                              const std::function<Result<bool>(const Chunk&)>& visit) {
  EtcdRange range = keys_.records_from(first);
  ChunkReader reader;
  while (true) {
    const Result<EtcdAnswer> read =
        client_.read(range, {.limit = kPairsPerRead, .revision = read_revision_});
    if (!read) return read.errors();
    for (const EtcdPair& pair : read->pairs) {
      const auto number = keys_.number_in(pair.key);
      // What lies behind the tail belongs to a write that was never finished.
      if (number && number->sequence > tail_.last) return Done{};
      if (!number || !reader.add(*number, pair.value))
        return error(name_of(number ? number->sequence : first),
                     "its chunk " + pair.key +
                         " is damaged or not whole; restore the cluster of etcd from a copy");
      if (!reader.chunk()) continue;
      const Result<bool> more = visit(*reader.chunk());
      if (!more) return more.errors();
      if (!*more) return Done{};
    }
    if (!read->more) return Done{};
    range.begin = read->pairs.back().key + '\0';
  }
}

Status EtcdStore::read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) {
  if (!leadership_) {
    // The writer may have pruned since.
    if (Status read = read_tail(); !read) return read;
  } else if (!broken_) {
    if (Status synced = sync(); !synced) return synced;
  }
  first = std::max(first, Sequence{1});
  if (first > tail_.last) return Done{};
  if (first <= tail_.pruned)
    return error(name_of(first),
                 "records up to " + std::to_string(tail_.pruned.value) +
                     " were deleted once two snapshots had them; begin with a snapshot");
  Sequence expected = tail_.pruned.next();
  Digest chain = tail_.pruned_chain;
  bool wanted = true;
  const auto missing = [&] {
    return error(name_of(expected), "it is missing; restore the cluster of etcd from a copy");
  };
  const Status read = read_chunks(expected, [&](const Chunk& chunk) -> Result<bool> {
    if (chunk.first != expected) return missing();
    for (const StoredRecord& record : chunk.records) {
      chain = chained(chain, record.bytes);
      if (record.chain != chain)
        return error(name_of(record.sequence),
                     "its bytes do not give its digest, so it is damaged; records before it are "
                     "sound; restore the cluster of etcd from a copy");
      if (record.sequence >= first && !visit(record)) return wanted = false;
      expected = expected.next();
    }
    return true;
  });
  if (!read) return read;
  if (wanted && expected <= tail_.last) return missing();
  return Done{};
}

Result<std::vector<EtcdManifest>> EtcdStore::manifests() {
  const Result<EtcdAnswer> read = client_.read(keys_.all_manifests(), {.revision = read_revision_});
  if (!read) return read.errors();
  std::vector<EtcdManifest> out;
  for (const EtcdPair& pair : read->pairs) {
    const auto manifest = record_in<EtcdManifest>(pair.value);
    if (!manifest)
      return error(pair.key,
                   "its bytes do not give its digest, so it is damaged; delete the key: an older "
                   "snapshot, or the records from the first, lead to the same state");
    out.push_back(*manifest);
  }
  return out;
}

Result<std::optional<StoredSnapshot>> EtcdStore::latest_snapshot() {
  if (!leadership_)
    if (Status read = read_tail(); !read) return read.errors();
  const Result<std::vector<EtcdManifest>> all = manifests();
  if (!all) return all.errors();
  if (all->empty()) return std::optional<StoredSnapshot>{};
  Result<StoredSnapshot> snapshot = snapshot_of(all->back());
  if (!snapshot) return snapshot.errors();
  return std::optional<StoredSnapshot>(std::move(*snapshot));
}

Result<StoredSnapshot> EtcdStore::snapshot_of(const EtcdManifest& manifest) {
  const std::string subject = name_of_snapshot(manifest.sequence);
  if (manifest.version > kRecordVersion)
    return error(subject,
                 "it has version " + std::to_string(manifest.version) +
                     ", this program reads versions up to " + std::to_string(kRecordVersion) +
                     "; use a newer orrery");
  if (manifest.sequence > tail_.last ||
      (manifest.sequence == tail_.last && manifest.chain != tail_.chain))
    return error(subject,
                 "it does not belong to this journal, which ends at record " +
                     std::to_string(tail_.last.value) +
                     " with another digest; restore the cluster of etcd from a copy");
  StoredSnapshot out{manifest.sequence, manifest.chain, manifest.version, {}};
  std::uint32_t pieces = 0;
  EtcdRange range = keys_.snapshot_pieces(manifest.sequence);
  for (bool more = manifest.pieces > 0; more && pieces < manifest.pieces;) {
    const Result<EtcdAnswer> read =
        client_.read(range, {.limit = kPairsPerRead, .revision = read_revision_});
    if (!read) return read.errors();
    for (const EtcdPair& pair : read->pairs) {
      const auto number = keys_.number_in(pair.key);
      if (pieces == manifest.pieces || !number || number->piece != pieces) break;
      const auto bytes = std::as_bytes(std::span(pair.value));
      out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
      ++pieces;
    }
    more = read->more;
    if (more) range.begin = read->pairs.back().key + '\0';
  }
  if (pieces != manifest.pieces || digest_of(out.bytes) != manifest.content)
    return error(subject,
                 "its bytes do not give its digest, so it is damaged; delete its manifest: an "
                 "older one, or the records from the first, lead to the same state");
  return out;
}

}  // namespace orrery::runtime
