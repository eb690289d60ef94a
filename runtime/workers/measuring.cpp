#include "runtime/workers/measuring.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace orrery::worker {
namespace {

constexpr int kWarmUp = 2;
constexpr std::int64_t kSmallest = 4096;
constexpr int kCheckpoints = 5;

double since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

class Measuring {
 public:
  Measuring(const Options& options,
            const Place& place,
            const TrainingParts& parts,
            Measurement& out)
      : options_(options), place_(place), parts_(parts), out_(out) {}

  Outcome run() {
    Outcome done = meet();
    if (done.ok()) done = products();
    const auto largest = static_cast<std::int64_t>(parts_.compute.product().size() * sizeof(float));
    for (std::int64_t bytes = std::min(kSmallest, largest); done.ok() && bytes > 0;
         bytes = bytes < largest ? std::min(bytes * 4, largest) : 0)
      done = sums(bytes);
    if (done.ok() && place_.rank == 0 && !options_.checkpoint.empty()) done = checkpoints(largest);
    // A rank that leaves closes its connections: not before all have measured.
    if (done.ok()) done = parts_.collective.barrier();
    return done;
  }

 private:
  Outcome meet() {
    const auto start = SteadyClock::now();
    Group group;
    group.meeting = {place_.job, place_.generation, {{}, place_.master_port}};
    if (place_.world_size > 1) {
      Result<std::string> master = parts_.resolve(place_.master_address);
      if (!master) return Outcome::fatal(master.errors().front().text());
      group.meeting.place.address = std::move(master).value();
    }
    group.rank = place_.rank;
    group.world_size = place_.world_size;
    Outcome built = parts_.collective.rebuild(group);
    out_.build_s = since(start);
    return built;
  }

  Outcome products() {
    for (std::int64_t round = -kWarmUp; round < options_.measure; ++round) {
      const auto start = SteadyClock::now();
      if (Outcome done = parts_.compute.multiply(); !done.ok()) return done;
      if (round >= 0) out_.multiply_s.push_back(since(start));
    }
    return Outcome::done();
  }

  Outcome sums(std::int64_t bytes) {
    MeasuredSum& sum = out_.sums.emplace_back();
    sum.bytes = bytes;
    // Sums of sums grow: each size begins with the product.
    if (Outcome done = parts_.compute.multiply(); !done.ok()) return done;
    const std::size_t floats = static_cast<std::size_t>(bytes) / sizeof(float);
    std::vector<float> host;
    std::span<float> summed = parts_.compute.product().first(floats);
    if (parts_.compute.stream() != nullptr && !parts_.collective.takes_device_memory()) {
      host.resize(floats, 1.0F);
      summed = host;
    }
    for (std::int64_t round = -kWarmUp; round < options_.measure; ++round) {
      // All begin together, so that no rank measures how long it waited for another.
      if (Outcome done = parts_.collective.barrier(); !done.ok()) return done;
      const auto start = SteadyClock::now();
      if (Outcome done = parts_.collective.all_reduce(summed); !done.ok()) return done;
      if (round >= 0) sum.times_s.push_back(since(start));
    }
    return Outcome::done();
  }

  Outcome checkpoints(std::int64_t bytes) {
    const std::string file = options_.checkpoint + ".measured";
    std::vector<char> content(static_cast<std::size_t>(bytes), 'o');
    out_.checkpoint_bytes = bytes;
    Outcome done = Outcome::done();
    for (int round = 0; round < kCheckpoints && done.ok(); ++round) {
      const auto start = SteadyClock::now();
      if (!write_file(file, content)) done = Outcome::fatal(file + " cannot be written");
      out_.checkpoint_write_s.push_back(since(start));
      const auto again = SteadyClock::now();
      if (done.ok() && !read_file(file, content)) done = Outcome::fatal(file + " cannot be read");
      out_.checkpoint_read_s.push_back(since(again));
    }
    ::unlink(file.c_str());
    return done;
  }

  static bool write_file(const std::string& file, const std::vector<char>& content) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    std::size_t at = 0;
    while (at < content.size()) {
      const ssize_t put = ::write(fd, content.data() + at, content.size() - at);
      if (put <= 0) break;
      at += static_cast<std::size_t>(put);
    }
    const bool well = at == content.size() && ::fsync(fd) == 0;
    return ::close(fd) == 0 && well;
  }

  static bool read_file(const std::string& file, std::vector<char>& content) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    std::size_t at = 0;
    while (at < content.size()) {
      const ssize_t got = ::read(fd, content.data() + at, content.size() - at);
      if (got <= 0) break;
      at += static_cast<std::size_t>(got);
    }
    ::close(fd);
    return at == content.size();
  }

  const Options& options_;
  const Place& place_;
  const TrainingParts& parts_;
  Measurement& out_;
};

}  // namespace

int measure(const Options& options,
            const Place& place,
            const TrainingParts& parts,
            Measurement& out,
            std::string& reason) {
  const Outcome done = Measuring(options, place, parts, out).run();
  parts.collective.leave();
  reason = done.reason;
  if (parts.drain.asked() != 0) return kExitDrained;
  // Peers that are through the last barrier may be gone before this rank is.
  const bool complete = !out.sums.empty() &&
                        out.sums.back().times_s.size() == static_cast<std::size_t>(options.measure);
  if (done.ok() || (done.kind == OutcomeKind::PeerLost && complete)) return kExitDone;
  return kExitFailed;
}

}  // namespace orrery::worker
