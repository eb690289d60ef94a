#include "runtime/store/journal_mark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/bytes.hpp"

namespace orrery::runtime {
namespace {

// Sequence, chain, and the digest of both; far less than a page, so it is never written by halves.
constexpr std::size_t kMarkBytes = 40;

using MarkBytes = std::array<std::byte, kMarkBytes>;

void put_digest(std::byte* to, const Digest& digest) {
  store_little_endian(to, digest.high);
  store_little_endian(to + 8, digest.low);
}

Digest digest_at(const std::byte* from) {
  return {load_little_endian<std::uint64_t>(from), load_little_endian<std::uint64_t>(from + 8)};
}

Digest digest_of_mark(const MarkBytes& bytes) {
  Digester digester;
  digester.update(std::span<const std::byte>(bytes).first(24));
  return digester.finish();
}

}  // namespace

JournalMark::~JournalMark() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::optional<Acknowledged>> JournalMark::read(const std::string& journal) {
  const std::string path = path_of(journal);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) {
    if (errno == ENOENT) return std::optional<Acknowledged>{};
    return Error{ErrorCode::Unavailable,
                 path,
                 0,
                 "mark",
                 std::string("it cannot be read: ") + std::strerror(errno) +
                     "; make it readable for the user that reads the journal"};
  }
  MarkBytes bytes{};
  const ssize_t size = pread(descriptor, bytes.data(), bytes.size(), 0);
  ::close(descriptor);
  const bool empty = size <= 0 || std::all_of(bytes.begin(), bytes.end(), [](std::byte b) {
                       return b == std::byte{0};
                     });
  if (empty) return std::optional<Acknowledged>{};
  if (size != static_cast<ssize_t>(kMarkBytes) ||
      digest_at(bytes.data() + 24) != digest_of_mark(bytes))
    return Error{ErrorCode::InvalidInput,
                 path,
                 0,
                 "mark",
                 "its bytes do not give its digest, so it is damaged; look whether the jobs of "
                 "late are in the journal (orrery journal dump), and remove it if they are"};
  return std::optional<Acknowledged>(Acknowledged{
      Sequence{load_little_endian<std::uint64_t>(bytes.data())}, digest_at(bytes.data() + 8)});
}

Result<JournalMark> JournalMark::open(const std::string& journal) {
  const std::string path = path_of(journal);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0)
    return Error{ErrorCode::Unavailable,
                 path,
                 0,
                 "mark",
                 std::string("it cannot be made: ") + std::strerror(errno) +
                     "; check the disk and the rights of the folder, then start again"};
  return JournalMark(path, descriptor);
}

void JournalMark::write(const Acknowledged& acknowledged) const {
  if (descriptor_ < 0) return;
  MarkBytes bytes{};
  store_little_endian(bytes.data(), acknowledged.last.value);
  put_digest(bytes.data() + 8, acknowledged.chain);
  put_digest(bytes.data() + 24, digest_of_mark(bytes));
  // A mark that lags says less than it could, and nothing wrong.
  if (pwrite(descriptor_, bytes.data(), bytes.size(), 0) < 0) return;
}

void JournalMark::remove() {
  if (descriptor_ < 0) return;
  unlink(path_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace orrery::runtime
