#include "runtime/agent/node_state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/invariant.hpp"
#include "runtime/shim/stored_record.hpp"

namespace orrery::runtime {
namespace {

Error state_refused(const std::string& subject, const std::string& message) {
  return {ErrorCode::Unavailable, {}, 0, subject, message};
}

}  // namespace

Result<NodeState> NodeState::open(const std::string& folder) {
  NodeState out;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return state_refused(folder, "it cannot be made: " + error.message());
  out.folder_ = std::filesystem::canonical(folder, error).string();
  if (error) return state_refused(folder, "it cannot be found: " + error.message());
  for (const char* name : {"workers", "jobs", "environments", "preparing", "prepared"}) {
    std::filesystem::create_directory(out.path(name), error);
    if (error) return state_refused(out.path(name), "it cannot be made: " + error.message());
    std::filesystem::permissions(out.path(name), std::filesystem::perms{0711}, error);
  }
  out.lock_.reset(::open(out.path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!out.lock_.is_open())
    return state_refused(out.path("lock"),
                         std::string("it cannot be made: ") + std::strerror(errno));
  if (flock(out.lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{
        ErrorCode::Conflict,
        {},
        0,
        out.folder_,
        "another agent works in this folder; end it, or give this one a folder of its own"};
  const std::optional<std::string> bytes = read_file(out.path("node"));
  if (bytes) {
    std::optional<NodeRecord> record = restored<NodeRecord>(*bytes);
    if (!record)
      return state_refused(
          out.path("node"),
          "it is damaged, so the name and number of this node are unknown; remove the folder once "
          "none of its workers lives");
    out.record_ = *std::move(record);
  }
  const Status known = out.learn_id();
  if (!known) return known.errors();
  const Status begun = out.begin_session();
  if (!begun) return begun.errors();
  return out;
}

// A file of its own: also where what `node` holds is forgotten, the folder is the same.
Status NodeState::learn_id() {
  if (const std::optional<std::string> text = read_file(path("id"))) {
    const char* end = text->data() + text->size();
    const auto [at, error] = std::from_chars(text->data(), end, id_, 16);
    if (error == std::errc() && at == end && id_ != 0) return Done{};
  }
  invariant(getrandom(&id_, sizeof id_, 0) == static_cast<ssize_t>(sizeof id_),
            "the kernel gives random bytes");
  id_ |= 1;
  std::array<char, 16> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), id_, 16);
  const std::string_view text(digits.data(), written.ptr);
  if (!replace_file(path("id"), text, Survives::PowerLoss))
    return state_refused(path("id"), std::string("it cannot be written: ") + std::strerror(errno));
  return Done{};
}

// A machine that comes back under its name with an empty disk knows no earlier life, and the
// controller, which does, hears nothing from what it takes for one: so lives are numbered by the
// clock, and where that was set back, one by one.
Status NodeState::begin_session(std::uint64_t above) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
  record_.session = std::max(
      {record_.session + 1, above + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0))});
  return save();
}

Status NodeState::know(NodeId node, const Settings& settings) {
  record_.known = true;
  record_.node = node;
  record_.settings = settings;
  return save();
}

Status NodeState::forget() {
  NodeRecord fresh;
  fresh.session = record_.session + 1;
  record_ = fresh;
  return save();
}

Status NodeState::save() {
  if (!replace_file(path("node"), stored(record_), Survives::PowerLoss))
    return state_refused(path("node"),
                         std::string("it cannot be written: ") + std::strerror(errno));
  return Done{};
}

}  // namespace orrery::runtime
