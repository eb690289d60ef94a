// The controller's side of the transport, on gRPC's callback interface.

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/link/batch.hpp"
#include "runtime/link/grpc_bounds.hpp"
#include "runtime/link/handoff.hpp"
#include "runtime/link/link.hpp"
#include "runtime/link/listening.hpp"
#include "runtime/link/tls_contents.hpp"
#include "runtime/proto/agent_link.grpc.pb.h"
#include "runtime/proto/agent_link.pb.h"
#include "runtime/security/role.hpp"

namespace orrery::runtime {

void prepare_grpc() {
  // Debian's builds are made for finding mistakes: each lock of gRPC would be checked for cycles.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
}

namespace {

using ServerClock = std::chrono::system_clock;  // What gRPC's deadlines are in.

/// How long a closing stream may take to tell its agent why.
constexpr std::chrono::seconds kClosingTime{2};

/// From the setting of an alarm to its call.
Handoff alarms;

class GrpcServer;

/// One agent's stream. gRPC owns it until `OnDone`; senders share it.
class Stream final : public grpc::ServerBidiReactor<link::Batch, link::Batch>,
                     public std::enable_shared_from_this<Stream> {
 public:
  /// `name`: of its certificate; empty where there is none.
  Stream(GrpcServer& server, LinkId id, std::string name, grpc::CallbackServerContext& context);

  const std::string& name() const { return name_; }

  void begin();
  void send(std::string message);
  void close(grpc::StatusCode code, const std::string& why);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class Queued { Sent, Dropped };

  /// With the mutex: begins to end the stream, once.
  void begin_closing(grpc::StatusCode code, const std::string& why, Queued queued);
  /// With the mutex: starts what is due, a write or the end.
  void advance();
  void close_late();

  Handoff begun_;    ///< From `begin` to all that gRPC calls.
  Handoff reading_;  ///< From the start of a read to its end.
  GrpcServer& server_;
  const LinkId id_;
  const std::string name_;
  link::Batch incoming_;  ///< The reading side's alone.

  std::mutex mutex_;
  grpc::CallbackServerContext* context_;  ///< None once gRPC is done with the stream.
  Outbox outbox_;
  link::Batch outgoing_;
  bool writing_ = false;
  bool closing_ = false;
  bool finished_ = false;
  grpc::Status status_;
  grpc::Alarm late_;
};

/// Answers a stream that is not wanted.
class Rejected final : public grpc::ServerBidiReactor<link::Batch, link::Batch> {
 public:
  explicit Rejected(grpc::Status status) {
    Finish(std::move(status));
    begun_.pass();  // Nothing is called before it is given to gRPC.
  }

  void OnDone() override {
    begun_.take();
    delete this;
  }

 private:
  Handoff begun_;
};

class GrpcServer final : public LinkServer, private link::AgentLink::CallbackService {
 public:
  GrpcServer(const LinkLimits& limits, LinkListener& listener)
      : limits_(limits), listener_(listener) {}

  ~GrpcServer() override { shut_down(); }

  Status listen(Address address, const TlsFiles& tls);

  void send(LinkId link, const ControllerMessage& message) override;
  void close(LinkId link, const std::string& why) override;
  void stop_accepting() override;

  std::string address() const override { return to_text(address_); }

  const LinkLimits& limits() const { return limits_; }

  LinkListener& listener() { return listener_; }

  void forget(LinkId id);

 private:
  grpc::ServerBidiReactor<link::Batch, link::Batch>* Attach(
      grpc::CallbackServerContext* context) override;

  std::shared_ptr<Stream> find(LinkId id);
  std::optional<grpc::Status> refusal(const grpc::CallbackServerContext& context,
                                      const Peer& peer) const;
  Peer peer_of(const grpc::CallbackServerContext& context) const;
  void shut_down();

  const LinkLimits limits_;
  LinkListener& listener_;
  Address address_;
  std::unique_ptr<grpc::Server> server_;

  std::mutex mutex_;
  std::condition_variable forgotten_;
  std::map<LinkId, std::shared_ptr<Stream>> streams_;
  std::map<std::string, std::size_t> by_name_;  ///< Streams of each authenticated name.
  std::uint64_t last_id_ = 0;
  bool stopping_ = false;
  std::thread ending_;  ///< Shuts gRPC down; once `stopping_`.
};

// --- Stream ---

Stream::Stream(GrpcServer& server,
               LinkId id,
               std::string name,
               grpc::CallbackServerContext& context)
    : server_(server),
      id_(id),
      name_(std::move(name)),
      context_(&context),
      outbox_(server.limits().outbound_bytes_max) {}

void Stream::begin() {
  begun_.pass();
  StartSendInitialMetadata();
  reading_.pass();
  StartRead(&incoming_);
}

void Stream::send(std::string message) {
  const std::size_t size = message.size();
  const std::lock_guard lock(mutex_);
  if (closing_) return;
  if (size > server_.limits().message_bytes_max) {
    begin_closing(grpc::StatusCode::RESOURCE_EXHAUSTED,
                  "a message of " + std::to_string(size) + " bytes for the agent, at most " +
                      std::to_string(server_.limits().message_bytes_max) + " are allowed",
                  Queued::Dropped);
  } else if (!outbox_.push(std::move(message))) {
    begin_closing(grpc::StatusCode::RESOURCE_EXHAUSTED,
                  "the agent reads too slowly: " + std::to_string(outbox_.bytes()) +
                      " bytes wait for it already",
                  Queued::Dropped);
  }
  advance();
}

void Stream::close(grpc::StatusCode code, const std::string& why) {
  const std::lock_guard lock(mutex_);
  begin_closing(code, why, Queued::Sent);
  advance();
}

void Stream::begin_closing(grpc::StatusCode code, const std::string& why, Queued queued) {
  if (closing_) return;
  closing_ = true;
  status_ = grpc::Status(code, why);
  if (queued == Queued::Dropped) outbox_.clear();
  // An agent that reads nothing would never let the last word pass.
  std::function<void(bool)> cut_off = [weak = weak_from_this()](bool on_time) {
    alarms.take();
    if (const std::shared_ptr<Stream> self = on_time ? weak.lock() : nullptr) self->close_late();
  };
  alarms.pass();
  late_.Set(ServerClock::now() + kClosingTime, std::move(cut_off));
}

void Stream::close_late() {
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

void Stream::advance() {
  if (writing_ || finished_) return;
  if (!outbox_.empty()) {
    outbox_.fill(outgoing_, batch_bytes(server_.limits().message_bytes_max));
    writing_ = true;
    StartWrite(&outgoing_);
  } else if (closing_) {
    finished_ = true;
    Finish(status_);
  }
}

void Stream::OnReadDone(bool ok) {
  begun_.take();
  reading_.take();
  if (!ok) {
    const std::lock_guard lock(mutex_);
    begin_closing(grpc::StatusCode::OK, "the agent or its connection went away", Queued::Dropped);
    advance();
    return;
  }
  std::vector<AgentMessage> messages;
  const std::string wrong = unpack(incoming_, server_.limits().message_bytes_max, messages);
  recycle(incoming_);
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    if (!wrong.empty()) {
      begin_closing(grpc::StatusCode::INVALID_ARGUMENT, "the agent sent " + wrong, Queued::Dropped);
      advance();
      return;
    }
  }
  if (!messages.empty()) server_.listener().on_messages(id_, std::move(messages));
  reading_.pass();
  StartRead(&incoming_);
}

void Stream::OnWriteDone(bool ok) {
  begun_.take();
  const std::lock_guard lock(mutex_);
  writing_ = false;
  recycle(outgoing_);
  if (!ok)
    begin_closing(grpc::StatusCode::OK, "the agent or its connection went away", Queued::Dropped);
  advance();
}

void Stream::OnCancel() {
  begun_.take();
  const std::lock_guard lock(mutex_);
  begin_closing(
      grpc::StatusCode::CANCELLED, "the agent or its connection went away", Queued::Dropped);
  advance();
}

void Stream::OnDone() {
  begun_.take();
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
    why = status_.error_message();
    late_.Cancel();
  }
  server_.listener().on_closed(id_, why);
  server_.forget(id_);  // May destroy this.
}

// --- GrpcServer ---

// Every client would refuse it, with words about its purpose.
Status may_serve(const TlsFiles& tls, const TlsContents& contents) {
  const auto role = enum_from<Role>(subject_of(contents.certificate).unit);
  if (!role || *role == Role::Controller) return Done{};
  return Error{.subject = tls.certificate,
               .message = "is a certificate of role " + std::string(to_string(*role)) +
                          ", needed one of role controller to serve with; have one made with "
                          "'orrery certs controller'"};
}

Status GrpcServer::listen(Address address, const TlsFiles& tls) {
  if (address.host == "localhost") address.host = "127.0.0.1";  // No name service is asked.
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (tls.is_set() && !address.is_unix()) {
    Result<TlsContents> contents = read_tls(tls);
    if (!contents) return contents.errors();
    if (Status fit = may_serve(tls, *contents); !fit) return fit;
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = contents->ca;
    options.pem_key_cert_pairs.push_back({contents->key, contents->certificate});
    credentials = grpc::SslServerCredentials(options);
  }
  if (address.is_unix())
    if (Status cleared = clear_stale_socket(address); !cleared) return cleared;

  prepare_grpc();
  grpc::ServerBuilder builder;
  builder.RegisterService(this);
  builder.SetMaxReceiveMessageSize(grpc_bytes_max(limits_.message_bytes_max));
  builder.SetMaxSendMessageSize(grpc_bytes_max(limits_.message_bytes_max));
  const auto set = [&](const char* name, int value) { builder.AddChannelArgument(name, value); };
  set(GRPC_ARG_ALLOW_REUSEPORT, 0);  // Or two controllers would share one port and never know.
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(limits_.streams_max));
  set(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepAliveMs / 2);
  // It would ping with every burst of data to measure the path; ours are short and the window fits.
  set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  int port = 0;
  builder.AddListeningPort(to_text(address), credentials, &port);
  server_ = builder.BuildAndStart();
  if (!server_ || port == 0)
    return Error{.code = ErrorCode::Unavailable,
                 .subject = "address " + to_text(address),
                 .message = "cannot listen there: " + why_not_listening(address) +
                            ", needed a free address of this machine; name another"};
  address_ = address;
  if (address.is_unix())
    chmod(address.path.c_str(), S_IRUSR | S_IWUSR);
  else
    address_.port = static_cast<std::uint16_t>(port);
  return Done{};
}

// With the mutex. A client that may have no stream is told so at once, before it can hold one.
std::optional<grpc::Status> GrpcServer::refusal(const grpc::CallbackServerContext& context,
                                                const Peer& peer) const {
  if (peer.authenticated && peer.role != "agent")
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                        "the certificate is for " + peer.role + " " + peer.name +
                            ", needed one of an agent; make it with orrery certs agent NODE");
  const auto& metadata = context.client_metadata();
  const auto version = metadata.find(kRecordVersionKey);
  const std::string needed = spoken_version();
  if (version == metadata.end() || version->second != needed) {
    const std::string found =
        version == metadata.end()
            ? "no record version"
            : "record version " + std::string(version->second.data(), version->second.size());
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                        "the agent speaks " + found + ", the controller needs version " + needed +
                            "; run the same release on both sides");
  }
  if (stopping_) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the controller ends");
  if (streams_.size() >= limits_.streams_max)
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                        "the controller has " + std::to_string(streams_.size()) +
                            " streams already, which is its limit");
  const auto named = peer.authenticated ? by_name_.find(peer.name) : by_name_.end();
  if (named != by_name_.end() && named->second >= limits_.streams_per_name_max)
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                        "agent " + peer.name + " has " + std::to_string(named->second) +
                            " streams already, which is the limit; end its other agents");
  return {};
}

Peer GrpcServer::peer_of(const grpc::CallbackServerContext& context) const {
  Peer peer{.address = context.peer()};
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (!auth || !auth->IsPeerAuthenticated()) return peer;
  peer.authenticated = true;
  const std::vector<grpc::string_ref> pem =
      auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return peer;
  const CertificateSubject subject = subject_of({pem.front().data(), pem.front().size()});
  peer.role = subject.unit;
  peer.name = subject.name;
  return peer;
}

grpc::ServerBidiReactor<link::Batch, link::Batch>* GrpcServer::Attach(
    grpc::CallbackServerContext* context) {
  const Peer peer = peer_of(*context);
  std::shared_ptr<Stream> stream;
  LinkId id;
  {
    const std::lock_guard lock(mutex_);
    if (std::optional<grpc::Status> refused = refusal(*context, peer))
      return new Rejected(*std::move(refused));
    id.value = ++last_id_;
    stream = std::make_shared<Stream>(*this, id, peer.authenticated ? peer.name : "", *context);
    if (!stream->name().empty()) ++by_name_[stream->name()];
    streams_.emplace(id, stream);
  }
  context->AddInitialMetadata(kRecordVersionKey, spoken_version());
  listener_.on_open(id, peer);
  stream->begin();
  return stream.get();
}

std::shared_ptr<Stream> GrpcServer::find(LinkId id) {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(id);
  return at == streams_.end() ? nullptr : at->second;
}

void GrpcServer::send(LinkId link, const ControllerMessage& message) {
  if (const std::shared_ptr<Stream> stream = find(link)) stream->send(encode(message));
}

void GrpcServer::close(LinkId link, const std::string& why) {
  if (const std::shared_ptr<Stream> stream = find(link))
    stream->close(grpc::StatusCode::ABORTED, why);
}

void GrpcServer::forget(LinkId id) {
  std::shared_ptr<Stream> last;  // Destroyed without the mutex.
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(id);
  last = std::move(at->second);
  streams_.erase(at);
  if (const auto named = by_name_.find(last->name()); named != by_name_.end())
    if (--named->second == 0) by_name_.erase(named);
  if (streams_.empty()) forgotten_.notify_all();
}

void GrpcServer::stop_accepting() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(stopping_, true)) return;
  ending_ = std::thread([this] { server_->Shutdown(ServerClock::now() + kClosingTime); });
}

void GrpcServer::shut_down() {
  if (!server_) return;
  // Or every agent that is sent away would be back before the last one has gone.
  stop_accepting();
  std::vector<std::shared_ptr<Stream>> open;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, stream] : streams_) open.push_back(stream);
  }
  for (const std::shared_ptr<Stream>& stream : open)
    stream->close(grpc::StatusCode::UNAVAILABLE, "the controller ends");
  open.clear();
  ending_.join();
  std::unique_lock lock(mutex_);
  forgotten_.wait(lock, [this] { return streams_.empty(); });
  lock.unlock();
  server_.reset();
}

}  // namespace

Result<std::unique_ptr<LinkServer>> serve_links(const std::string& address,
                                                const TlsFiles& tls,
                                                const LinkLimits& limits,
                                                LinkListener& listener) {
  if (Errors wrong = check_exposure(address, tls, "agents_address"); !wrong.empty()) return wrong;
  auto server = std::make_unique<GrpcServer>(limits, listener);
  if (Status listening = server->listen(*parse_address(address), tls); !listening)
    return listening.errors();
  return std::unique_ptr<LinkServer>(std::move(server));
}

}  // namespace orrery::runtime
