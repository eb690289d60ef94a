// The agent's side of the transport, on gRPC's callback interface.

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/invariant.hpp"
#include "runtime/config/address.hpp"
#include "runtime/link/batch.hpp"
#include "runtime/link/grpc_bounds.hpp"
#include "runtime/link/handoff.hpp"
#include "runtime/link/link.hpp"
#include "runtime/link/tls_contents.hpp"
#include "runtime/proto/agent_link.grpc.pb.h"
#include "runtime/proto/agent_link.pb.h"

namespace orrery::runtime {
namespace {

using Clock = std::chrono::system_clock;  // What gRPC's deadlines are in.

/// From the setting of a time limit to its call.
Handoff limits_set;

/// How many streams gRPC still holds. The dialer waits for them, so that none outlives it.
class StreamCount {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }

  void remove() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }

  void wait_for_none() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

/// One stream as gRPC sees it. It keeps itself until `OnDone`; the client in front of it may go
/// before. The dialer owns the channel and outlives what is of gRPC here: gRPC's threads end with
/// the last channel, so none of them may release it last.
class ClientStream final : public grpc::ClientBidiReactor<link::Batch, link::Batch>,
                           public std::enable_shared_from_this<ClientStream> {
 public:
  ClientStream(const std::string& address, LinkClientListener& listener, StreamCount& count)
      : address_(address), count_(count), listener_(&listener) {}

  void begin(const std::shared_ptr<grpc::Channel>& channel, Duration timeout);
  void send(std::string message);
  std::size_t bytes_waiting() const;
  /// Ends the stream; when it returns no call of the listener runs on another thread, and none
  /// follows.
  void detach();

  void OnReadInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  /// With the mutex: gives the stream up for a reason of our own.
  void give_up(const std::string& why);
  /// With the mutex: starts the write that is due.
  void advance();
  /// Nothing is started from outside any more.
  void end();
  /// Why this stream is of no use; empty: it is.
  std::string wrong_greeting() const;

  Handoff begun_;    ///< From `begin` to all that gRPC calls.
  Handoff reading_;  ///< From the start of a read to its end.
  const std::string address_;
  StreamCount& count_;  ///< Until `OnDone`.
  const LinkLimits limits_;
  link::Batch incoming_;  ///< The reading side's alone.

  // Held while the listener is called; recursive, since it may destroy the client then.
  std::recursive_mutex calling_;
  LinkClientListener* listener_;

  mutable std::mutex mutex_;
  std::optional<grpc::ClientContext> context_;  ///< Until gRPC is done with the stream.
  std::shared_ptr<ClientStream> self_;          ///< The same.
  Outbox outbox_{limits_.outbound_bytes_max};
  link::Batch outgoing_;
  bool writing_ = false;
  bool opened_ = false;
  bool ended_ = false;
  std::string why_;  ///< Of our own; empty: what gRPC says.
  grpc::Alarm late_;
};

void ClientStream::begin(const std::shared_ptr<grpc::Channel>& channel, Duration timeout) {
  self_ = shared_from_this();
  count_.add();
  context_.emplace();
  context_->AddMetadata(kRecordVersionKey, spoken_version());
  link::AgentLink::Stub(channel).async()->Attach(&*context_, this);
  AddHold();
  if (!timeout.is_forever()) {
    std::function<void(bool)> give_up_late = [weak = weak_from_this(), timeout](bool on_time) {
      limits_set.take();
      const std::shared_ptr<ClientStream> self = on_time ? weak.lock() : nullptr;
      if (!self) return;
      const std::lock_guard lock(self->mutex_);
      if (!self->opened_)
        self->give_up("no answer in " + std::to_string(timeout.in_seconds()) + " s");
    };
    limits_set.pass();
    late_.Set(Clock::now() + std::chrono::microseconds(timeout.ns / 1000), std::move(give_up_late));
  }
  begun_.pass();
  StartCall();
}

void ClientStream::send(std::string message) {
  const std::size_t size = message.size();
  const std::lock_guard lock(mutex_);
  if (ended_ || !why_.empty()) return;
  if (size > limits_.message_bytes_max)
    return give_up("a message of " + std::to_string(size) + " bytes for it, at most " +
                   std::to_string(limits_.message_bytes_max) + " are allowed");
  if (!outbox_.push(std::move(message)))
    return give_up("it reads too slowly: " + std::to_string(outbox_.bytes()) +
                   " bytes wait for it already");
  advance();
}

std::size_t ClientStream::bytes_waiting() const {
  const std::lock_guard lock(mutex_);
  return outbox_.bytes();
}

void ClientStream::detach() {
  {
    const std::lock_guard calling(calling_);
    listener_ = nullptr;
  }
  const std::lock_guard lock(mutex_);
  give_up("the agent ended the stream");
}

void ClientStream::give_up(const std::string& why) {
  outbox_.clear();
  if (why_.empty()) why_ = why;
  if (context_) context_->TryCancel();
}

void ClientStream::advance() {
  if (writing_ || ended_ || outbox_.empty()) return;
  outbox_.fill(outgoing_, batch_bytes(limits_.message_bytes_max));
  writing_ = true;
  StartWrite(&outgoing_);
}

void ClientStream::end() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
  }
  RemoveHold();
}

std::string ClientStream::wrong_greeting() const {
  const auto& metadata = context_->GetServerInitialMetadata();
  const auto version = metadata.find(kRecordVersionKey);
  const std::string needed = spoken_version();
  if (version == metadata.end())
    return {};  // A refusal, whose status tells more, or no controller.
  const std::string found(version->second.data(), version->second.size());
  if (found == needed) return {};
  return "it speaks record version " + found + ", this agent needs version " + needed +
         "; run the same release on both sides";
}

void ClientStream::OnReadInitialMetadataDone(bool ok) {
  begun_.take();
  if (!ok) return end();
  const std::string wrong = wrong_greeting();
  const bool greeted = context_->GetServerInitialMetadata().contains(kRecordVersionKey);
  {
    const std::lock_guard lock(mutex_);
    if (!wrong.empty()) give_up(wrong);
    opened_ = true;
    late_.Cancel();
  }
  if (greeted && wrong.empty()) {
    const std::lock_guard calling(calling_);
    if (listener_ != nullptr) listener_->on_open();
  }
  reading_.pass();
  StartRead(&incoming_);  // Fails at once where the stream is over.
}

void ClientStream::OnReadDone(bool ok) {
  begun_.take();
  reading_.take();
  if (!ok) return end();
  std::vector<ControllerMessage> messages;
  const std::string wrong = unpack(incoming_, limits_.message_bytes_max, messages);
  recycle(incoming_);
  if (!wrong.empty()) {
    const std::lock_guard lock(mutex_);
    give_up("it sent " + wrong);
  } else if (!messages.empty()) {
    const std::lock_guard calling(calling_);
    if (listener_ != nullptr) listener_->on_messages(std::move(messages));
  }
  reading_.pass();
  StartRead(&incoming_);
}

void ClientStream::OnWriteDone(bool ok) {
  begun_.take();
  const std::lock_guard lock(mutex_);
  writing_ = false;
  recycle(outgoing_);
  if (ok)
    advance();
  else
    outbox_.clear();  // The reading side learns the same and ends the stream.
}

void ClientStream::OnDone(const grpc::Status& status) {
  begun_.take();
  std::shared_ptr<ClientStream> self;  // Destroyed last.
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    self = std::move(self_);
    context_.reset();
    late_.Cancel();
    why = !why_.empty() ? why_ : status.error_message();
  }
  if (why.empty()) why = "the connection broke";
  {
    const std::lock_guard calling(calling_);
    if (listener_ != nullptr) listener_->on_closed("controller at " + address_ + ": " + why);
    listener_ = nullptr;
  }
  count_.remove();  // From here on the dialer may be gone.
}

class GrpcClient final : public LinkClient {
 public:
  explicit GrpcClient(std::shared_ptr<ClientStream> stream) : stream_(std::move(stream)) {}

  ~GrpcClient() override { stream_->detach(); }

  void send(const AgentMessage& message) override { stream_->send(encode(message)); }

  std::size_t bytes_waiting() const override { return stream_->bytes_waiting(); }

 private:
  const std::shared_ptr<ClientStream> stream_;
};

/// A stream that cannot even be tried: says so on a thread of its own, as the transport would.
class BrokenClient final : public LinkClient {
 public:
  BrokenClient(std::string why, LinkClientListener& listener)
      : saying_([&listener, why = std::move(why)] { listener.on_closed(why); }) {}

  void send(const AgentMessage& /*message*/) override {}

 private:
  std::jthread saying_;
};

class GrpcDialer final : public LinkDialer {
 public:
  GrpcDialer(std::optional<TlsContents> tls, int connections)
      : tls_(std::move(tls)), connections_(static_cast<std::size_t>(connections)) {}

  ~GrpcDialer() override { count_.wait_for_none(); }

  std::unique_ptr<LinkClient> open(const std::string& address,
                                   Duration timeout,
                                   LinkClientListener& listener) override;

 private:
  struct Channels {
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    std::size_t next = 0;
  };

  std::shared_ptr<grpc::Channel> channel_to(const Address& address);
  std::shared_ptr<grpc::Channel> make_channel(const Address& address) const;

  const std::optional<TlsContents> tls_;
  const std::size_t connections_;
  std::mutex mutex_;
  std::map<std::string, Channels> channels_;
  /// The last one that was replaced stays, and with it gRPC's threads: one of them may be opening.
  std::shared_ptr<grpc::Channel> retired_;
  StreamCount count_;
};

std::shared_ptr<grpc::Channel> GrpcDialer::make_channel(const Address& address) const {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (tls_ && !address.is_unix()) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = tls_->ca;
    options.pem_private_key = tls_->key;
    options.pem_cert_chain = tls_->certificate;
    credentials = grpc::SslCredentials(options);
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(grpc_bytes_max(LinkLimits{}.message_bytes_max));
  arguments.SetMaxSendMessageSize(grpc_bytes_max(LinkLimits{}.message_bytes_max));
  // Without it gRPC joins all channels to one address into one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // How often a stream is tried is the agent's matter; a connection is not held back much longer.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);  // How long one attempt may take.
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const std::string target = address.is_unix() ? to_text(address) : "dns:///" + to_text(address);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

std::shared_ptr<grpc::Channel> GrpcDialer::channel_to(const Address& address) {
  const std::lock_guard lock(mutex_);
  Channels& known = channels_[to_text(address)];
  known.channels.resize(connections_);
  std::shared_ptr<grpc::Channel>& channel = known.channels[known.next++ % connections_];
  // An unused one may remember for a while that it failed; a new one tries at once.
  if (channel && channel.use_count() == 1) retired_ = std::exchange(channel, nullptr);
  if (!channel) channel = make_channel(address);
  return channel;
}

std::unique_ptr<LinkClient> GrpcDialer::open(const std::string& address,
                                             Duration timeout,
                                             LinkClientListener& listener) {
  const TlsFiles files = tls_ ? TlsFiles{.ca = "set"} : TlsFiles{};
  if (const Errors wrong = check_exposure(address, files, "controller"); !wrong.empty())
    return std::make_unique<BrokenClient>(wrong.front().text(), listener);
  Address parsed = *parse_address(address);
  if (parsed.host == "localhost") parsed.host = "127.0.0.1";  // No name service is asked.
  auto stream = std::make_shared<ClientStream>(to_text(parsed), listener, count_);
  stream->begin(channel_to(parsed), timeout);
  return std::make_unique<GrpcClient>(std::move(stream));
}

}  // namespace

Result<std::unique_ptr<LinkDialer>> dial_links(const TlsFiles& tls, int connections) {
  invariant(connections >= 1, "dial_links: at least one connection");
  std::optional<TlsContents> contents;
  if (tls.is_set()) {
    Result<TlsContents> read = read_tls(tls);
    if (!read) return read.errors();
    contents = std::move(*read);
  }
  prepare_grpc();
  return std::unique_ptr<LinkDialer>(
      std::make_unique<GrpcDialer>(std::move(contents), connections));
}

}  // namespace orrery::runtime
