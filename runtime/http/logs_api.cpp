#include "runtime/http/logs_api.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/number_text.hpp"
#include "core/control/status.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::LogPiece;
using runtime::LogPosition;
using runtime::LogQuery;
using Then = ControlClient::Then;

constexpr std::uint64_t kTailOfLines = 256 << 10;  // Bytes in which the last lines are looked for.
constexpr Duration kPatience = Duration::seconds(1);
constexpr Duration kLogKeepAlive = Duration::seconds(15);

/// "3.1500": so many bytes of the log of that start.
std::string id_of(const LogPosition& position) {
  return std::to_string(position.incarnation.value) + "." + std::to_string(position.bytes);
}

std::optional<LogPosition> position_of(std::string_view id) {
  const std::size_t dot = std::min(id.find('.'), id.size());
  const auto incarnation = parsed_number<std::uint32_t>(id.substr(0, dot));
  const auto bytes = parsed_number<std::int64_t>(id.substr(std::min(dot + 1, id.size())));
  if (!incarnation || !bytes || *bytes < 0) return std::nullopt;
  return LogPosition{Incarnation{*incarnation}, *bytes};
}

/// One log on its way to a client. On the I/O thread.
class LogStream : public std::enable_shared_from_this<LogStream> {
 public:
  /// `lines`: at most so many of the end at first; 0: all. `framed`: as server-sent events.
  LogStream(CallPtr call,
            std::shared_ptr<Executor> executor,
            std::uint64_t lines,
            const LogQuery& query,
            bool framed)
      : call_(std::move(call)),
        executor_(std::move(executor)),
        lines_(lines),
        follow_(query.follow),
        framed_(framed),
        since_(query.since) {}

  /// A quiet log must not look like a server that does not answer.
  void start() {
    if (!follow_) return;
    timer_ = executor_->after(kPatience, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->begin();
    });
  }

  /// `data`: what `piece.data` has shown, which is gone.
  void on_piece(const LogPiece& piece, std::string data) {
    const bool last = piece.last;
    const std::string& error = piece.error;
    if (!error.empty() && !begun_)
      return fail(call_, piece.passing ? 503 : 404, "there is no log: " + error);
    if (!data.empty()) tell_gap(piece.begin);
    end_ = piece.begin;
    if (end_.is_known()) end_.bytes += static_cast<std::int64_t>(data.size());
    if (lines_ > 0) {
      tail_ += data;
      // Without `follow` the end is known only when all has come; with it the first piece is taken.
      if (!follow_ && !last) return;
      data = last_lines(std::exchange(tail_, {}));
      lines_ = 0;
    }
    if (!data.empty() || last) begin();
    send(std::move(data));
    if (last) end(error);
  }

 private:
  /// Tells whoever goes on where it stopped how much of what came then is kept no longer.
  void tell_gap(const LogPosition& begin_of_data) {
    const LogPosition since = std::exchange(since_, {});
    const std::int64_t lost = begin_of_data.bytes - since.bytes;
    if (!framed_ || !since.is_known() || lost <= 0 ||
        since.incarnation != begin_of_data.incarnation)
      return;
    begin();
    std::string out;
    append_event(out, "lost", std::to_string(lost), begin_of_data);
    call_->exchange->write(std::move(out));
  }

  void begin() {
    if (std::exchange(begun_, true)) return;
    Response head;
    head.content_type = framed_ ? "text/event-stream" : "text/plain; charset=utf-8";
    head.headers = {{"Cache-Control", "no-cache"}, {"X-Content-Type-Options", "nosniff"}};
    call_->exchange->begin(std::move(head));
    if (follow_ && framed_) await_keep_alive();
  }

  void await_keep_alive() {
    timer_ = executor_->after(kLogKeepAlive, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || !self->call_->exchange->is_open()) return;
      self->call_->exchange->write(":\n\n");
      self->await_keep_alive();
    });
  }

  std::string last_lines(std::string text) const {
    std::size_t at = text.size();
    if (at > 0 && text[at - 1] == '\n') --at;
    for (std::uint64_t left = lines_; at > 0; --at)
      if (text[at - 1] == '\n' && --left == 0) break;
    return text.substr(at);
  }

  void send(std::string data) {
    if (data.empty()) return;
    if (!framed_) return call_->exchange->write(std::move(data));
    line_ += data;
    std::string out;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = line_.find('\n', begin)) != std::string::npos; begin = end + 1)
      append_event(out, "log", std::string_view(line_).substr(begin, end - begin), behind(end + 1));
    line_.erase(0, begin);
    if (!out.empty()) call_->exchange->write(std::move(out));
  }

  /// The place behind so many bytes of `line_`.
  LogPosition behind(std::size_t bytes) const {
    LogPosition out = end_;
    if (out.is_known()) out.bytes -= static_cast<std::int64_t>(line_.size() - bytes);
    return out;
  }

  // A carriage return would end the line of an event.
  static void append_event(std::string& out,
                           std::string_view name,
                           std::string_view data,
                           const LogPosition& id) {
    if (id.is_known()) out.append("id: ").append(id_of(id)).append("\n");
    out.append("event: ").append(name).append("\ndata: ");
    for (const char c : data)
      if (c != '\r' && c != '\n') out += c;
    out += "\n\n";
  }

  void end(const std::string& error) {
    timer_.reset();
    if (!framed_ && !error.empty()) return call_->exchange->abort();
    if (framed_) {
      std::string out;
      // Whoever goes on behind a line that broke off gets all of it.
      if (!line_.empty()) append_event(out, "log", line_, behind(error.empty() ? line_.size() : 0));
      append_event(out, error.empty() ? "end" : "error", error, {});
      call_->exchange->write(std::move(out));
    }
    call_->exchange->finish();
  }

  CallPtr call_;
  std::shared_ptr<Executor> executor_;
  std::uint64_t lines_;
  bool follow_;
  bool framed_;
  bool begun_ = false;
  std::string tail_;   ///< Until the first lines can be chosen.
  std::string line_;   ///< Framed: the beginning of a line.
  LogPosition since_;  ///< Where the client goes on; not known once something has come.
  LogPosition end_;    ///< Behind all that has come.
  std::shared_ptr<void> timer_;
};

void open_log(const CallPtr& call,
              const ControlClient& client,
              const LogQuery& query,
              const std::shared_ptr<LogStream>& stream) {
  stream->start();
  auto subscription = client.control().read_log(
      query, [stream, executor = client.executor()](const runtime::LogPiece& piece) {
        executor->post([stream, piece, data = std::string(piece.data)]() mutable {
          stream->on_piece(piece, std::move(data));
        });
      });
  call->exchange->keep(std::shared_ptr<runtime::Subscription>(std::move(subscription)));
}

// Finds the worker that is meant; answers and says false where there is none.
bool choose_worker(const CallPtr& call,
                   const State& state,
                   const JobState& job,
                   const std::string& role,
                   LogQuery& query) {
  query.job = job.row.id;
  std::string roles;
  std::int64_t workers = role.empty() ? static_cast<std::int64_t>(job.workers.size()) : 0;
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const std::string& name = job.spec->roles[r].name;
    roles += (r == 0 ? "" : ", ") + name;
    if (name == role) query.role = RoleIndex{static_cast<std::uint16_t>(r)};
  }
  if (!role.empty() && query.role.is_none()) {
    fail(call, 404, job.spec->name + " has no role " + role + ", its roles are " + roles);
    return false;
  }
  for (const Worker& worker : job.workers)
    if (!role.empty() && worker.role == query.role) ++workers;
  if (query.rank < workers || query.previous) return true;
  if (job.workers.empty()) {
    const JobStatus status = status_of(state, job);
    fail(call,
         404,
         job.spec->name + " has no worker, so there is no log: it is " +
             std::string(to_string(status.phase)) + ", " + status.message);
    return false;
  }
  fail(call,
       404,
       job.spec->name + " has no worker of rank " + std::to_string(query.rank) +
           (role.empty() ? "" : " in role " + role) + ", it has " + std::to_string(workers));
  return false;
}

void logs(const CallPtr& call, const ControlClient& client) {
  LogQuery query;
  const std::string role = call->query.take("role").value_or("");
  query.rank = static_cast<std::int32_t>(call->query.take_number("rank", 0, 0, kReplicasMax));
  query.tail_bytes = call->query.take_number("tail_bytes", 0, 0, UINT32_MAX);
  const std::uint64_t lines = call->query.take_number("tail_lines", 0, 0, 100'000);
  query.follow = call->query.take_flag("follow");
  query.previous = call->query.take_flag("previous");
  const std::optional<std::string> since = call->query.take("since");
  if (!query_is_sound(call, "role, rank, tail_bytes, tail_lines, follow, previous, since")) return;
  if (since) {
    const std::optional<LogPosition> position = position_of(*since);
    if (!position)
      return fail(call, 400, "since: found '" + *since + "', the id of an event is needed");
    query.since = *position;
  }
  if (lines > 0) query.tail_bytes = kTailOfLines;
  const bool framed =
      call->request.header("Accept").find("text/event-stream") != std::string_view::npos;
  const auto stream = std::make_shared<LogStream>(call, client.executor(), lines, query, framed);
  client.look_at_job(
      call, call->value("job"), [=](const ControlView& view, const JobState& job) -> Then {
        LogQuery chosen = query;
        if (!choose_worker(call, view.state, job, role, chosen)) return {};
        return [=] { open_log(call, client, chosen, stream); };
      });
}

}  // namespace

void add_logs_api(Router& router, const ControlClient& client) {
  router.add("GET", "/api/v1/jobs/{job}/logs", Role::User, [=](const CallPtr& call) {
    logs(call, client);
  });
}

}  // namespace orrery::http
