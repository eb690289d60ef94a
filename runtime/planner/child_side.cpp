#include "runtime/planner/child_side.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace orrery::runtime {
namespace {

constexpr std::size_t kToldMax = 400;

// A sanitizer reserves terabytes of addresses for its shadow, and can then reserve no more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kAddressesAreMemory = false;
#else
constexpr bool kAddressesAreMemory = true;
#endif

bool read_all(int fd, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t got = ::recv(fd, to.data(), to.size(), 0);
    if (got > 0)
      to = to.subspan(static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR)
      return false;
  }
  return true;
}

}  // namespace

void settle_in() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  if (const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    (void)!::write(fd, "500", 3);
    ::close(fd);
  }
}

void limit_memory(Bytes memory) {
  if (memory.count <= 0 || !kAddressesAreMemory) return;
  const auto most = static_cast<rlim_t>(memory.count);
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_AS, &limit);
}

bool read_head(int fd, FrameHead& head) {
  std::array<std::byte, kFrameHead> bytes{};
  if (!read_all(fd, bytes)) return false;
  head = read_head(bytes);
  return true;
}

bool read_payload(int fd, const FrameHead& head, std::vector<std::byte>& payload) {
  payload.resize(head.size);
  return read_all(fd, payload);
}

bool read_frame(int fd, FrameHead& head, std::vector<std::byte>& payload) {
  return read_head(fd, head) && read_payload(fd, head, payload);
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (errno != EINTR)
      return false;
  }
  return true;
}

bool tell_failure(int fd, ByteWriter& out, std::string_view why) {
  out.clear();
  {
    const FrameWriter failed(out, FrameKind::Failed);
    out.string(why.substr(0, kToldMax));
  }
  (void)write_all(fd, out.bytes());
  return false;
}

}  // namespace orrery::runtime
