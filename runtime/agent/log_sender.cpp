#include "runtime/agent/log_sender.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/shim/stored_record.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;

// 25 MB/s for each request at most.
constexpr Duration kPieceGap = Duration::milliseconds(10);

// How often a log that is followed is looked at.
constexpr Duration kLookGap = Duration::milliseconds(100);

constexpr std::size_t kRequestsMax = 64;

Descriptor open_log(const std::string& path) {
  return Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

struct FileName {
  dev_t device;
  ino_t number;

  friend auto operator<=>(const FileName&, const FileName&) = default;
};

FileName name_of(int file) {
  struct stat found {};

  fstat(file, &found);
  return {found.st_dev, found.st_ino};
}

std::int64_t size_of(int file) {
  struct stat found {};

  return fstat(file, &found) == 0 ? found.st_size : 0;
}

std::optional<LogBegin> begin_in(const std::string& newest) {
  return restored<LogBegin>(read_file(newest + ".begin", 1 << 10).value_or(""));
}

/// Bytes of the log before the first of `files`, the oldest first, as `begin` tells; -1 where it is
/// about none of them.
std::int64_t bytes_before(const std::deque<Descriptor>& files,
                          const std::optional<LogBegin>& begin) {
  std::int64_t before = 0;
  for (const Descriptor& file : files) {
    const FileName name = name_of(file.get());
    if (begin && name.device == begin->device && name.number == begin->inode)
      return std::max<std::int64_t>(begin->bytes - before, 0);
    before += size_of(file.get());
  }
  return -1;
}

// Of a worker that does not run; empty where its program has run, whatever it wrote.
std::string why_it_never_ran(const std::string& folder, bool has_log) {
  const auto status = restored<WorkerStatus>(read_file(folder + "/status").value_or(""));
  if (!status)
    return has_log ? "" : "the worker has not started yet; ask again, or follow its events";
  const bool never_ran = status->kind == EndKind::NotStarted ||
                         (status->kind != EndKind::Exited && status->started_at == 0);
  if (!never_ran) return "";
  return "the worker never started: " +
         (status->reason.empty() ? "its node does not know why" : status->reason);
}

}  // namespace

void LogSender::request(const LogRequest& request, Instant now) {
  next_at_ = now;
  open_.erase(request.request);
  std::erase_if(refusals_, [&](const LogChunk& each) { return each.request == request.request; });
  if (request.cancel) return;
  Open open;
  open.worker = {request.job, request.incarnation, request.birth_rank};
  open.follow = request.follow;
  std::string refusal;
  bool passing = false;
  if (request.previous) {
    const std::optional<WorkerName> before = predecessor_of_(request);
    if (before) open.worker = *before;
    if (!before)
      refusal = "no earlier start of this worker is kept on its node: it may be its first";
  }
  if (refusal.empty()) refusal = open_files(request, open);
  if (refusal.empty() && open_.size() >= kRequestsMax) {
    refusal = "its node shows " + std::to_string(kRequestsMax) +
              " logs already, the most at once; end one of them";
    passing = true;
  }
  // A refusal is the last piece of a request that has no files.
  if (!refusal.empty()) refusals_.push_back({request.request, {}, true, refusal, passing});
  open_.emplace(request.request, std::move(open));
  if (!refusal.empty()) open_[request.request].files.clear();
}

/// Opens all files of a log, the oldest first, and leaves out what lies before the tail. Returns
/// why it cannot.
std::string LogSender::open_files(const LogRequest& request, Open& open) const {
  const std::string folder = folder_of_(open.worker);
  if (folder.empty()) return "no log of this worker is kept on its node";
  open.newest = folder + "/log";
  const std::optional<LogBegin> earlier = begin_in(open.newest);
  // From the newest on: what is renamed meanwhile is met again, and known by its name.
  std::set<FileName> seen;
  for (std::int32_t i = 0; i < log_files_; ++i) {
    Descriptor file = open_log(i == 0 ? open.newest : open.newest + "." + std::to_string(i));
    if (file.is_open() && seen.insert(name_of(file.get())).second)
      open.files.push_front(std::move(file));
  }
  if (!runs_(open.worker))
    if (std::string why = why_it_never_ran(folder, !open.files.empty()); !why.empty()) return why;
  const std::optional<LogBegin> begin = begin_in(open.newest);
  // A log that had a second file would have it still, or tell where its first one begins.
  open.position =
      begin || log_files_ == 1 || open.files.size() > 1 ? bytes_before(open.files, begin) : 0;
  // The shim may have turned to another file in between.
  if (open.position < 0 && log_files_ > 1) open.position = bytes_before(open.files, earlier);
  if (open.files.empty()) return {};
  std::int64_t total = 0;
  for (const Descriptor& file : open.files) total += size_of(file.get());
  std::int64_t skipped = 0;
  if (request.tail_bytes > 0)
    skipped =
        total - static_cast<std::int64_t>(std::min<std::uint64_t>(request.tail_bytes, INT64_MAX));
  if (open.position >= 0)
    skipped = std::max(skipped, std::min(request.since - open.position, total));
  skipped = std::max<std::int64_t>(skipped, 0);
  if (open.position >= 0) open.position += skipped;
  while (open.files.size() > 1 && skipped >= size_of(open.files.front().get())) {
    skipped -= size_of(open.files.front().get());
    open.files.pop_front();
  }
  lseek(open.files.front().get(), skipped, SEEK_SET);
  return {};
}

std::vector<LogChunk> LogSender::take(Instant now, std::size_t waiting) {
  std::vector<LogChunk> out;
  if (now < next_at_) return out;
  bool more = false;
  for (LogChunk& refusal : std::exchange(refusals_, {})) {
    open_.erase(refusal.request);
    out.push_back(std::move(refusal));
  }
  auto it = open_.lower_bound(turn_);
  for (std::size_t left = open_.size(); left > 0; --left) {
    if (it == open_.end()) it = open_.begin();
    if (waiting >= kWaitingMax) {
      more = true;
      break;
    }
    LogChunk chunk;
    chunk.request = it->first;
    chunk.last = !read_piece(it->second, chunk);
    more = more || !chunk.data.empty();
    waiting += chunk.data.size();
    turn_ = chunk.request + 1;
    const bool last = chunk.last;
    if (last || !chunk.data.empty()) out.push_back(std::move(chunk));
    it = last ? open_.erase(it) : std::next(it);
  }
  next_at_ = now + (more ? kPieceGap : kLookGap);
  return out;
}

/// Whether there may be more after this piece.
bool LogSender::read_piece(Open& open, LogChunk& chunk) const {
  // Asked before reading: whatever it has written is there to be read then.
  const bool ended = !open.follow || !runs_(open.worker);
  if (open.files.empty()) {
    Descriptor file = open_log(open.newest);
    if (!file.is_open()) return !ended;
    open.files.push_back(std::move(file));
  }
  chunk.begin = open.position;
  while (chunk.data.size() < kPieceBytes) {
    char block[1 << 14];
    const std::size_t room = std::min(sizeof block, kPieceBytes - chunk.data.size());
    const ssize_t count = read(open.files.front().get(), block, room);
    if (count > 0) {
      chunk.data.append(block, static_cast<std::size_t>(count));
      if (open.position >= 0) open.position += count;
      continue;
    }
    if (open.files.size() > 1) {
      open.files.pop_front();
      continue;
    }
    if (const std::int64_t position = open.position; open_successors(open)) {
      open.files.pop_front();
      // Something between may be gone: what follows is another piece.
      if (open.position != position && !chunk.data.empty()) return true;
      if (chunk.data.empty()) chunk.begin = open.position;
      continue;
    }
    return !ended;
  }
  return true;
}

/// Where the file at hand has been renamed, adds those that came after it, once no more can come to
/// it.
bool LogSender::open_successors(Open& open) const {
  const int at_hand = open.files.front().get();
  std::deque<Descriptor> later;
  bool is_kept = false;
  for (std::int32_t i = 0; i < log_files_ && !is_kept; ++i) {
    Descriptor file = open_log(i == 0 ? open.newest : open.newest + "." + std::to_string(i));
    if (!file.is_open()) break;
    is_kept = name_of(file.get()) == name_of(at_hand);
    // One that is renamed meanwhile is met again.
    if (!is_kept && (later.empty() || name_of(file.get()) != name_of(later.front().get())))
      later.push_front(std::move(file));
  }
  if (later.empty()) return false;
  // Something may have been written between our last look and the renaming.
  if (lseek(at_hand, 0, SEEK_CUR) < size_of(at_hand)) return false;
  if (!is_kept) open.position = bytes_before(later, begin_in(open.newest));
  for (Descriptor& file : later) open.files.push_back(std::move(file));
  return true;
}

}  // namespace orrery::runtime
