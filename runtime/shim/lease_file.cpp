#include "runtime/shim/lease_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {
namespace {

constexpr std::size_t kMappedBytes = 4096;

std::uint64_t mixed(std::uint64_t sum, std::uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15ULL;
  return sum ^ (sum >> 29);
}

std::uint64_t sum_of(std::uint64_t number,
                     std::uint64_t boot,
                     std::uint64_t epoch,
                     std::int64_t until) {
  std::uint64_t sum = mixed(0x6c65617365, number);
  sum = mixed(sum, boot);
  sum = mixed(sum, epoch);
  return mixed(sum, static_cast<std::uint64_t>(until));
}

std::uint64_t number_of_boot() {
  std::uint64_t number = 0x626f6f74;
  for (const char c : boot_id()) number = mixed(number, static_cast<unsigned char>(c));
  return number;
}

}  // namespace

Instant boot_time() {
  timespec now{};
  if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) clock_gettime(CLOCK_MONOTONIC, &now);
  return Instant{static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec};
}

std::int64_t wall_clock() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::string boot_id() {
  std::string id = read_file("/proc/sys/kernel/random/boot_id").value_or("");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

LeaseFile LeaseFile::map(const std::string& path, bool writable) {
  LeaseFile out;
  const Descriptor file(
      open(path.c_str(), (writable ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0644));
  if (!file.is_open()) return out;

  // Touching what a mapped file has no block for would end the program.
  struct stat found {};

  if (fstat(file.get(), &found) != 0) return out;
  if (found.st_size < static_cast<off_t>(kMappedBytes) &&
      (!writable || posix_fallocate(file.get(), 0, kMappedBytes) != 0))
    return out;
  void* const place = mmap(nullptr,
                           kMappedBytes,
                           writable ? PROT_READ | PROT_WRITE : PROT_READ,
                           MAP_SHARED,
                           file.get(),
                           0);
  if (place == MAP_FAILED) return out;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                2 * sizeof(Note) <= kMappedBytes);
  out.notes_ = static_cast<Note*>(place);
  out.boot_ = number_of_boot();
  return out;
}

LeaseFile LeaseFile::for_writing(const std::string& path) { return map(path, true); }

LeaseFile LeaseFile::for_reading(const std::string& path) { return map(path, false); }

LeaseFile::LeaseFile(LeaseFile&& other) noexcept
    : notes_(std::exchange(other.notes_, nullptr)), boot_(other.boot_) {}

LeaseFile& LeaseFile::operator=(LeaseFile&& other) noexcept {
  if (this == &other) return *this;
  if (notes_ != nullptr) munmap(notes_, kMappedBytes);
  notes_ = std::exchange(other.notes_, nullptr);
  boot_ = other.boot_;
  return *this;
}

LeaseFile::~LeaseFile() {
  if (notes_ != nullptr) munmap(notes_, kMappedBytes);
}

bool LeaseFile::whole(const Note& note, std::uint64_t& number, LeaseNote& out, std::uint64_t boot) {
  number = note.number.load(std::memory_order_acquire);
  const std::uint64_t epoch = note.epoch.load(std::memory_order_acquire);
  const std::int64_t until = note.until.load(std::memory_order_acquire);
  if (number == 0 || note.boot.load(std::memory_order_acquire) != boot) return false;
  if (note.sum.load(std::memory_order_acquire) != sum_of(number, boot, epoch, until)) return false;
  out = {Epoch{static_cast<std::uint32_t>(epoch)}, Instant{until}};
  return true;
}

LeaseNote LeaseFile::read() const {
  LeaseNote newest;
  std::uint64_t highest = 0;
  for (int i = 0; i < 2; ++i) {
    std::uint64_t number = 0;
    LeaseNote note;
    if (!whole(notes_[i], number, note, boot_) || number <= highest) continue;
    highest = number;
    newest = note;
  }
  return newest;
}

void LeaseFile::write(const LeaseNote& note) {
  std::uint64_t highest = 0;
  int at = 0;
  for (int i = 0; i < 2; ++i) {
    std::uint64_t number = 0;
    LeaseNote unused;
    if (!whole(notes_[i], number, unused, boot_) || number <= highest) continue;
    highest = number;
    at = 1 - i;
  }
  Note& to = notes_[at];
  const std::uint64_t number = highest + 1;
  to.sum.store(0, std::memory_order_release);
  to.number.store(number, std::memory_order_release);
  to.boot.store(boot_, std::memory_order_release);
  to.epoch.store(note.epoch.value, std::memory_order_release);
  to.until.store(note.until.ns, std::memory_order_release);
  to.sum.store(sum_of(number, boot_, note.epoch.value, note.until.ns), std::memory_order_release);
}

}  // namespace orrery::runtime
