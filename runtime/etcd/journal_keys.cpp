#include "runtime/etcd/journal_keys.hpp"

#include <algorithm>

#include "core/base/number_text.hpp"

namespace orrery::runtime {
namespace {

constexpr std::size_t kDigits = 20;
constexpr std::size_t kPieceDigits = 6;
constexpr std::size_t kDigestBytes = 16;
constexpr std::size_t kSizeBytes = 8;

std::string digits(std::uint64_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const std::optional<Number> number = parsed_number<Number>(text);
  out = number.value_or(out);
  return number.has_value();
}

// The key behind all that begin with `key`.
std::string behind(std::string key) {
  ++key.back();  // A digit, a dot or a slash: never the last of its kind.
  return key;
}

void put_digest(ByteWriter& out, const Digest& digest) {
  out.u64(digest.high);
  out.u64(digest.low);
}

Digest get_digest(ByteReader& in) {
  Digest out;
  out.high = in.u64();
  out.low = in.u64();
  return out;
}

std::string text_of(const Digest& digest) {
  ByteWriter out;
  put_digest(out, digest);
  return std::string(out.text());
}

Digest digest_of(std::string_view bytes) {
  Digester digester;
  digester.update(bytes);
  return digester.finish();
}

}  // namespace

std::string JournalKeys::records(Sequence first, std::size_t piece) const {
  const std::string key = prefix_ + "/journal/" + digits(first.value, kDigits);
  return piece == 0 ? key : key + "." + digits(piece, kPieceDigits);
}

std::string JournalKeys::snapshot(Sequence at, std::size_t piece) const {
  return prefix_ + "/snapshot/" + digits(at.value, kDigits) + "." + digits(piece, kPieceDigits);
}

std::string JournalKeys::manifest(Sequence at) const {
  return prefix_ + "/manifest/" + digits(at.value, kDigits);
}

EtcdRange JournalKeys::records_from(Sequence first) const {
  return {records(first), behind(prefix_ + "/journal/")};
}

EtcdRange JournalKeys::records_before(Sequence end) const {
  return {prefix_ + "/journal/", records(end)};
}

EtcdRange JournalKeys::all_manifests() const { return EtcdRange::prefix(prefix_ + "/manifest/"); }

EtcdRange JournalKeys::manifests_before(Sequence end) const {
  return {prefix_ + "/manifest/", manifest(end)};
}

EtcdRange JournalKeys::snapshot_pieces(Sequence at) const {
  return EtcdRange::prefix(prefix_ + "/snapshot/" + digits(at.value, kDigits) + ".");
}

EtcdRange JournalKeys::snapshots_before(Sequence end) const {
  return {prefix_ + "/snapshot/", prefix_ + "/snapshot/" + digits(end.value, kDigits)};
}

EtcdRange JournalKeys::snapshots_between(Sequence low, Sequence high) const {
  return {snapshot_pieces(low).end, prefix_ + "/snapshot/" + digits(high.value, kDigits)};
}

std::optional<JournalKeys::Number> JournalKeys::number_in(std::string_view key) const {
  const std::size_t slash = key.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view name = key.substr(slash + 1);
  Number out;
  if (name.size() < kDigits || !read_number(name.substr(0, kDigits), out.sequence.value))
    return std::nullopt;
  if (name.size() == kDigits) return out;
  if (name[kDigits] != '.' || !read_number(name.substr(kDigits + 1), out.piece))
    return std::nullopt;
  return out;
}

std::string sealed(std::string_view bytes) {
  return std::string(bytes) + text_of(digest_of(bytes));
}

std::optional<std::string_view> unsealed(std::string_view value) {
  if (value.size() < kDigestBytes) return std::nullopt;
  const std::string_view bytes = value.substr(0, value.size() - kDigestBytes);
  if (text_of(digest_of(bytes)) != value.substr(bytes.size())) return std::nullopt;
  return bytes;
}

ChunkWriter::ChunkWriter(Sequence first, const Digest& before)
    : first_(first), last_{first.value - 1}, chain_(before) {
  bytes_.u64(first.value);
  put_digest(bytes_, before);
}

void ChunkWriter::add(const StoredRecord& record) {
  bytes_.u16(record.version);
  put_digest(bytes_, record.chain);
  bytes_.varint(record.bytes.size());
  bytes_.raw(record.bytes);
  last_ = record.sequence;
  chain_ = record.chain;
}

std::vector<std::string> ChunkWriter::pieces(std::size_t piece_max) const {
  const std::string content = sealed(bytes_.text());
  ByteWriter head;
  head.u64(content.size() + kSizeBytes);
  const std::string all = std::string(head.text()) + content;
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < all.size(); begin += piece_max)
    out.push_back(all.substr(begin, piece_max));
  return out;
}

bool ChunkReader::add(const JournalKeys::Number& number, std::string_view piece) {
  complete_ = false;
  if (number.piece == 0) {
    if (bytes_.size() < size_) return false;  // The one before was not whole.
    first_ = number.sequence;
    next_piece_ = 0;
    bytes_.clear();
    size_ = ByteReader(piece).u64();
    if (size_ < kSizeBytes) return false;
  } else if (number.sequence != first_) {
    return false;
  } else if (bytes_.size() >= size_) {
    return true;
  }
  if (number.piece != next_piece_++) return false;
  bytes_ += piece;
  if (bytes_.size() < size_) return true;
  complete_ = bytes_.size() == size_ && read();
  return complete_;
}

bool ChunkReader::read() {
  const std::optional<std::string_view> content =
      unsealed(std::string_view(bytes_).substr(kSizeBytes));
  if (!content) return false;
  ByteReader in(*content);
  chunk_ = {Sequence{in.u64()}, get_digest(in), {}};
  Sequence next = chunk_.first;
  while (in.ok() && in.remaining() > 0) {
    StoredRecord record;
    record.sequence = next;
    record.version = in.u16();
    record.chain = get_digest(in);
    record.bytes = in.raw(in.varint());
    chunk_.records.push_back(record);
    next = next.next();
  }
  return in.ok() && !chunk_.records.empty() && chunk_.first == first_;
}

}  // namespace orrery::runtime
