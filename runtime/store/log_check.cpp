#include "runtime/store/log_check.hpp"

#include <array>
#include <cstdint>
#include <fstream>
#include <vector>

namespace orrery::runtime {
namespace {

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
constexpr std::uint32_t kMagic = 0x377f0682;  // Its last bit: checksums of big-endian words.
constexpr std::size_t kHeadBytes = 32;
constexpr std::size_t kFrameHeadBytes = 24;
constexpr std::uint32_t kPageMin = 512;
constexpr std::uint32_t kPageMax = 65'536;

using SumPair = std::array<std::uint32_t, 2>;

std::uint32_t big_endian(const char* from) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

std::uint32_t little_endian(const char* from) { return __builtin_bswap32(big_endian(from)); }

/// The checksum goes on over `size` bytes, a multiple of eight.
SumPair summed(SumPair sum, const char* from, std::size_t size, bool big) {
  const auto word = big ? big_endian : little_endian;
  for (std::size_t i = 0; i < size; i += 8) {
    sum[0] += word(from + i) + sum[1];
    sum[1] += word(from + i + 4) + sum[0];
  }
  return sum;
}

SumPair pair_at(const char* from) { return {big_endian(from), big_endian(from + 4)}; }

/// What a log's head says.
struct LogHead {
  bool big = false;
  std::size_t page = 0;
  SumPair salt{};
  SumPair sum{};
};

/// False where the head is damaged.
bool read_head(const std::array<char, kHeadBytes>& bytes, LogHead& head) {
  const std::uint32_t magic = big_endian(bytes.data());
  head.big = (magic & 1) != 0;
  head.page = big_endian(bytes.data() + 8);
  head.salt = pair_at(bytes.data() + 16);
  head.sum = pair_at(bytes.data() + 24);
  const bool is_size =
      head.page >= kPageMin && head.page <= kPageMax && (head.page & (head.page - 1)) == 0;
  return (magic & ~1u) == kMagic && is_size &&
         summed({}, bytes.data(), kHeadBytes - 8, head.big) == head.sum;
}

/// One frame as it lies there.
struct LogFrame {
  bool of_log = false;   ///< It has the salt of the head: it was written since the log began anew.
  bool follows = false;  ///< Its checksum is right after the one that was stored before it.
  bool commits = false;  ///< It ends a transaction.
  SumPair stored{};
};

LogFrame frame_in(const std::vector<char>& bytes, const LogHead& head, const SumPair& before) {
  LogFrame frame;
  frame.of_log = pair_at(bytes.data() + 8) == head.salt;
  frame.commits = big_endian(bytes.data() + 4) != 0;
  frame.stored = pair_at(bytes.data() + 16);
  SumPair sum = summed(before, bytes.data(), 8, head.big);
  sum = summed(sum, bytes.data() + kFrameHeadBytes, head.page, head.big);
  frame.follows = sum == frame.stored;
  return frame;
}

Error damage(const std::string& log, const std::string& what, std::uint64_t sound_bytes) {
  return {ErrorCode::InvalidInput,
          log,
          0,
          what,
          "it is damaged, and transactions that follow it were acknowledged; restore the journal "
          "from a copy; or, to go on without all that came later: truncate -s " +
              std::to_string(sound_bytes) + " " + log + ", and remove the mark beside it"};
}

}  // namespace

std::string log_of(const std::string& database) { return database + "-wal"; }

Status check_log(const std::string& database) {
  const std::string path = log_of(database);
  std::ifstream in(path, std::ios::binary);
  std::array<char, kHeadBytes> bytes{};
  if (!in || !in.read(bytes.data(), bytes.size())) return Done{};  // SQLite reads none of it.
  LogHead head;
  if (!read_head(bytes, head)) {
    // The head is made durable before the first frame is written.
    if (in.peek() == std::ifstream::traits_type::eof()) return Done{};
    return damage(path, "the head of the log", 0);
  }
  std::vector<char> frame(kFrameHeadBytes + head.page);
  SumPair before = head.sum;
  std::uint64_t number = 0;
  std::uint64_t bad = 0;                    // The first frame that SQLite does not take.
  std::uint64_t commit_bytes = kHeadBytes;  // Up to the last transaction that it takes.
  bool ended = false;                       // A transaction has ended at or after the bad frame.
  while (in.read(frame.data(), static_cast<std::streamsize>(frame.size()))) {
    ++number;
    const LogFrame now = frame_in(frame, head, before);
    const bool sound = now.of_log && now.follows;
    if (bad == 0 && sound && now.commits) commit_bytes = kHeadBytes + number * frame.size();
    if (bad == 0 && !sound) bad = number;
    if (bad != 0) {
      // Only the last transaction can have been cut short: a writer that began another one had seen
      // the one before become durable.
      if (ended && sound)
        return damage(path, "frame " + std::to_string(bad) + " of the log", commit_bytes);
      // Frames of an earlier log lie behind the end of this one, and follow each other.
      const bool counts = now.of_log || (number == bad && now.follows);
      ended = ended || (now.commits && counts);
    }
    before = now.stored;
  }
  return Done{};
}

}  // namespace orrery::runtime
