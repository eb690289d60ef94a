#include "runtime/etcd/etcd_client.hpp"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/proto/etcd.grpc.pb.h"

// The one file that knows gRPC and etcd's messages.
namespace orrery::runtime {
namespace {

namespace pb = etcdserverpb;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPauseBetweenRounds{25};
// A call that members drop while they elect a leader is not taken up afterwards, so it is given
// little time at first; members that are merely slow are given up to 32 times as much.
constexpr int kHastyRounds = 3;
constexpr int kDoublingsMax = 5;
constexpr int kReconnectFirstMs = 50;
constexpr int kReconnectMaxMs = 200;
constexpr int kConnectMs = 3'000;
// A member that stands still under a watch; etcd refuses pings more often than every 5 s.
constexpr int kPingEveryMs = 10'000;
constexpr int kPingTimeoutMs = 3'000;

gpr_timespec in(milliseconds time) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(time.count(), GPR_TIMESPAN));
}

void fill(const EtcdRange& range, pb::RangeRequest& out) {
  out.set_key(range.begin);
  out.set_range_end(range.end);
}

void fill(const EtcdPut& put, pb::PutRequest& out) {
  out.set_key(put.key);
  out.set_value(put.value);
  out.set_lease(put.lease);
}

void fill(const EtcdOperation& operation, pb::RequestOp& out) {
  if (const auto* put = std::get_if<EtcdPut>(&operation)) {
    fill(*put, *out.mutable_request_put());
  } else if (const auto* erase = std::get_if<EtcdDelete>(&operation)) {
    out.mutable_request_delete_range()->set_key(erase->range.begin);
    out.mutable_request_delete_range()->set_range_end(erase->range.end);
  } else {
    fill(std::get<EtcdGet>(operation).range, *out.mutable_request_range());
  }
}

void fill(const EtcdCompare& compare, pb::Compare& out) {
  out.set_key(compare.key);
  out.set_result(pb::Compare::EQUAL);
  if (compare.target == EtcdCompare::Target::Created) {
    out.set_target(pb::Compare::CREATE);
    out.set_create_revision(compare.revision);
  } else {
    out.set_target(pb::Compare::MOD);
    out.set_mod_revision(compare.revision);
  }
}

EtcdPair pair_of(pb::KeyValue& from) {
  return {std::move(*from.mutable_key()),
          std::move(*from.mutable_value()),
          from.create_revision(),
          from.mod_revision(),
          from.lease()};
}

void take_pairs(pb::RangeResponse& from, EtcdAnswer& out) {
  for (pb::KeyValue& each : *from.mutable_kvs()) out.pairs.push_back(pair_of(each));
  out.more = from.more();
}

/// Whether another member, or the same one later, may do it.
bool may_pass(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
      return true;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return status.error_message().find("too many requests") != std::string::npos;
    default:
      return false;
  }
}

grpc::Status not_connected() {
  return {grpc::StatusCode::UNAVAILABLE, "no connection could be made"};
}

Error refusal(const std::string& name, const std::string& doing, const grpc::Status& status) {
  const std::string& said = status.error_message();
  const auto says = [&](const char* text) { return said.find(text) != std::string::npos; };
  if (says("database space exceeded"))
    return {ErrorCode::Unavailable,
            name,
            0,
            "etcd",
            doing +
                " failed: the members' quota of space is used up; raise "
                "--quota-backend-bytes or free space (etcdctl defrag on each member), then "
                "clear the alarm (etcdctl alarm disarm) and start again: the journal goes on "
                "at its last durable record"};
  if (status.error_code() == grpc::StatusCode::NOT_FOUND)
    return {ErrorCode::NotFound, name, 0, "etcd", doing + " failed: " + said};
  if (status.error_code() == grpc::StatusCode::OUT_OF_RANGE)
    return {ErrorCode::Unavailable,
            name,
            0,
            "etcd",
            doing + " failed: what was being read has been compacted meanwhile; read it again"};
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
      status.error_code() == grpc::StatusCode::PERMISSION_DENIED)
    return {ErrorCode::InvalidInput,
            name,
            0,
            "etcd",
            doing + " was refused: " + said + "; give a certificate that the members accept"};
  return {ErrorCode::InvalidInput,
          name,
          0,
          "etcd",
          doing + " was refused: " + said + "; use etcd 3.4 or later with its default limits"};
}

Error unreachable(const std::string& name,
                  const std::string& doing,
                  milliseconds patience,
                  const std::string& last) {
  return {ErrorCode::Unavailable,
          name,
          0,
          "etcd",
          doing + " failed: no member did it within " + std::to_string(patience.count()) + " ms (" +
              last + "); see that most members run and can be reached from here"};
}

Result<std::string> content_of(const std::string& file, const char* what) {
  if (file.empty()) return std::string();
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  if (!in || !(out << in.rdbuf()))
    return Error{ErrorCode::InvalidInput,
                 file,
                 0,
                 "etcd",
                 std::string("the ") + what + " cannot be read; name a PEM file"};
  return out.str();
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const EtcdSettings& settings) {
  if (settings.ca_file.empty() && settings.certificate_file.empty() && settings.key_file.empty())
    return grpc::InsecureChannelCredentials();
  if (settings.certificate_file.empty() != settings.key_file.empty() || settings.ca_file.empty())
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "etcd",
                 "TLS is half configured; give the authority's certificate, and both or none of "
                 "our certificate and its key"};
  const auto ca = content_of(settings.ca_file, "authority's certificate");
  const auto certificate = content_of(settings.certificate_file, "certificate");
  const auto key = content_of(settings.key_file, "key");
  Errors errors;
  for (const auto* each : {&ca, &certificate, &key})
    if (!*each) errors.insert(errors.end(), each->errors().begin(), each->errors().end());
  if (!errors.empty()) return errors;
  return grpc::SslCredentials({*ca, *key, *certificate});
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& endpoint,
                                          const std::shared_ptr<grpc::ChannelCredentials>& with) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // A read of many chunks; we bound what we ask for.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMaxMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  return grpc::CreateCustomChannel(endpoint, with, arguments);
}

struct Member {
  explicit Member(std::string at, const std::shared_ptr<grpc::Channel>& to)
      : endpoint(std::move(at)),
        channel(to),
        kv(pb::KV::NewStub(channel)),
        lease(pb::Lease::NewStub(channel)),
        watch(pb::Watch::NewStub(channel)),
        maintenance(pb::Maintenance::NewStub(channel)) {}

  /// Whether it is connected, after at most `limit`. gRPC connects only while a caller waits for
  /// it: a call that fails at once because there is no connection brings none about.
  bool is_connected(milliseconds limit) const {
    const gpr_timespec deadline = in(limit);
    grpc_connectivity_state state = channel->GetState(true);
    while (state != GRPC_CHANNEL_READY) {
      if (!channel->WaitForStateChange(state, deadline)) return false;
      state = channel->GetState(true);
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
    }
    return true;
  }

  std::string endpoint;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::KV::Stub> kv;
  std::unique_ptr<pb::Lease::Stub> lease;
  std::unique_ptr<pb::Watch::Stub> watch;
  std::unique_ptr<pb::Maintenance::Stub> maintenance;
};

}  // namespace

struct EtcdClient::Members {
  std::vector<Member> all;
  std::atomic<std::size_t> current = 0;  ///< The member that answered last.

  Member& at(std::size_t number) { return all[number % all.size()]; }

  /// Calls `call(member, context)` on one member after the other until it is done or refused for
  /// good, or the patience is over.
  template <class Call>
  Status try_each(const EtcdClient& client,
                  const std::string& doing,
                  milliseconds patience,
                  const Call& call) {
    const Clock::time_point end = Clock::now() + patience;
    std::string last;
    for (std::size_t tries = 0;; ++tries) {
      const int round = static_cast<int>(tries / all.size());
      const int doublings = std::clamp(round + 1 - kHastyRounds, 0, kDoublingsMax);
      if (tries > 0 && tries % all.size() == 0) std::this_thread::sleep_for(kPauseBetweenRounds);
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      if (tries > 0 && left.count() <= 0) return unreachable(client.name_, doing, patience, last);
      const std::size_t number = current;
      Member& member = at(number);
      grpc::ClientContext context;
      const milliseconds deadline = std::clamp(client.settings_.call_deadline * (1 << doublings),
                                               milliseconds(1),
                                               std::max(left, milliseconds(1)));
      const bool connected = member.is_connected(deadline);
      context.set_deadline(in(deadline));
      const grpc::Status status = connected ? call(member, context) : not_connected();
      if (status.ok()) return Done{};
      if (!may_pass(status)) return refusal(client.name_, doing, status);
      last = member.endpoint + ": " + status.error_message();
      std::size_t expected = number;  // Unless another thread has moved on already.
      current.compare_exchange_strong(expected, number + 1);
    }
  }
};

EtcdRange EtcdRange::prefix(std::string_view beginning) {
  std::string end(beginning);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  // Nothing sorts behind it: one zero byte means up to the last key.
  if (end.empty()) return {std::string(beginning), std::string(1, '\0')};
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {std::string(beginning), end};
}

Result<std::unique_ptr<EtcdClient>> EtcdClient::make(const EtcdSettings& settings) {
  if (settings.endpoints.empty())
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "etcd",
                 "no endpoints were given, at least one was needed; name each member as HOST:PORT"};
  const auto credentials = credentials_of(settings);
  if (!credentials) return credentials.errors();
  auto members = std::make_unique<Members>();
  for (const std::string& endpoint : settings.endpoints)
    members->all.emplace_back(endpoint, channel_to(endpoint, *credentials));
  return std::unique_ptr<EtcdClient>(new EtcdClient(settings, std::move(members)));
}

EtcdClient::EtcdClient(EtcdSettings settings, std::unique_ptr<Members> members)
    : settings_(std::move(settings)), name_("etcd "), members_(std::move(members)) {
  for (const std::string& endpoint : settings_.endpoints)
    name_ += (name_.back() == ' ' ? "" : ",") + endpoint;
}

EtcdClient::~EtcdClient() = default;

Result<EtcdAnswer> EtcdClient::commit(const EtcdTransaction& transaction) {
  pb::TxnRequest request;
  for (const EtcdCompare& each : transaction.compares) fill(each, *request.add_compare());
  for (const EtcdOperation& each : transaction.then) fill(each, *request.add_success());
  for (const EtcdOperation& each : transaction.otherwise) fill(each, *request.add_failure());
  pb::TxnResponse response;
  const Status done = members_->try_each(*this,
                                         "a transaction",
                                         settings_.patience,
                                         [&](Member& member, grpc::ClientContext& context) {
                                           return member.kv->Txn(&context, request, &response);
                                         });
  if (!done) return done.errors();
  EtcdAnswer answer;
  answer.succeeded = response.succeeded();
  answer.revision = response.header().revision();
  for (pb::ResponseOp& each : *response.mutable_responses())
    if (each.has_response_range()) take_pairs(*each.mutable_response_range(), answer);
  return answer;
}

Result<EtcdAnswer> EtcdClient::read(const EtcdRange& range, const EtcdReading& how) {
  pb::RangeRequest request;
  fill(range, request);
  request.set_limit(how.limit);
  request.set_revision(how.revision);
  request.set_keys_only(how.keys_only);
  pb::RangeResponse response;
  const Milliseconds patience = how.patience.count() > 0 ? how.patience : settings_.patience;
  const Status done = members_->try_each(
      *this, "reading", patience, [&](Member& member, grpc::ClientContext& context) {
        return member.kv->Range(&context, request, &response);
      });
  if (!done) return done.errors();
  EtcdAnswer answer;
  answer.revision = response.header().revision();
  take_pairs(response, answer);
  return answer;
}

Result<EtcdAnswer> EtcdClient::put(const EtcdPut& put) {
  pb::PutRequest request;
  fill(put, request);
  pb::PutResponse response;
  const Status done = members_->try_each(
      *this, "writing", settings_.patience, [&](Member& member, grpc::ClientContext& context) {
        return member.kv->Put(&context, request, &response);
      });
  if (!done) return done.errors();
  EtcdAnswer answer;
  answer.revision = response.header().revision();
  return answer;
}

Result<EtcdLease> EtcdClient::grant(std::chrono::seconds ttl) {
  pb::LeaseGrantRequest request;
  request.set_ttl(ttl.count());
  pb::LeaseGrantResponse response;
  const Status done =
      members_->try_each(*this,
                         "asking for a lease",
                         settings_.patience,
                         [&](Member& member, grpc::ClientContext& context) {
                           return member.lease->LeaseGrant(&context, request, &response);
                         });
  if (!done) return done.errors();
  return EtcdLease{response.id(), std::chrono::seconds(response.ttl())};
}

Result<EtcdLease> EtcdClient::keep_alive(std::int64_t lease, Milliseconds patience) {
  pb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  pb::LeaseKeepAliveResponse response;
  const Status done = members_->try_each(
      *this, "renewing a lease", patience, [&](Member& member, grpc::ClientContext& context) {
        const auto stream = member.lease->LeaseKeepAlive(&context);
        stream->Write(request);
        stream->WritesDone();
        const bool answered = stream->Read(&response);
        // The answer is all we want; ending a stream politely costs a deadline where it hangs.
        if (answered) context.TryCancel();
        const grpc::Status status = stream->Finish();
        return answered ? grpc::Status::OK : status;
      });
  if (!done) return done.errors();
  if (response.ttl() <= 0)
    return Error{ErrorCode::NotFound, name_, 0, "etcd", "renewing a lease failed: it has ended"};
  return EtcdLease{lease, std::chrono::seconds(response.ttl())};
}

Status EtcdClient::revoke(std::int64_t lease, Milliseconds patience) {
  pb::LeaseRevokeRequest request;
  request.set_id(lease);
  pb::LeaseRevokeResponse response;
  return members_->try_each(
      *this, "giving a lease back", patience, [&](Member& member, grpc::ClientContext& context) {
        const grpc::Status status = member.lease->LeaseRevoke(&context, request, &response);
        // An earlier try may have done it.
        return status.error_code() == grpc::StatusCode::NOT_FOUND ? grpc::Status::OK : status;
      });
}

Status EtcdClient::compact(std::int64_t revision) {
  pb::CompactionRequest request;
  request.set_revision(revision);
  pb::CompactionResponse response;
  return members_->try_each(
      *this, "compacting", settings_.patience, [&](Member& member, grpc::ClientContext& context) {
        const grpc::Status status = member.kv->Compact(&context, request, &response);
        // Another client has compacted further already.
        return status.error_code() == grpc::StatusCode::OUT_OF_RANGE ? grpc::Status::OK : status;
      });
}

Result<EtcdWatchEnd> EtcdClient::watch(
    const EtcdRange& range,
    std::int64_t from,
    const std::stop_token& cancel,
    const std::function<void(std::vector<EtcdChange>, std::int64_t)>& changed) {
  const std::size_t number = members_->current;
  Member& member = members_->at(number);
  grpc::ClientContext context;
  const std::stop_callback stop(cancel, [&] { context.TryCancel(); });
  const bool connected = member.is_connected(settings_.call_deadline);
  const auto stream = member.watch->Watch(&context);
  pb::WatchRequest request;
  request.mutable_create_request()->set_key(range.begin);
  request.mutable_create_request()->set_range_end(range.end);
  request.mutable_create_request()->set_start_revision(from);
  bool created = false;
  EtcdWatchEnd end;
  pb::WatchResponse response;
  for (bool on = connected && stream->Write(request); on && stream->Read(&response);) {
    created = true;
    // Of later revisions than its own a member says nothing, without a word about it.
    end.is_behind = response.created() && response.header().revision() + 1 < from;
    if (end.is_behind) break;
    std::vector<EtcdChange> changes;
    // The revision in the head may be ahead of the changes that were sent.
    std::int64_t last = 0;
    for (pb::Event& event : *response.mutable_events()) {
      changes.push_back({pair_of(*event.mutable_kv()), event.type() == pb::Event::DELETE});
      last = std::max(last, changes.back().pair.mod_revision);
    }
    if (!changes.empty()) changed(std::move(changes), last);
    end.compacted = response.compact_revision();
    if (response.canceled()) break;
  }
  context.TryCancel();
  const grpc::Status status = stream->Finish();
  if (cancel.stop_requested() || end.compacted > 0) return end;
  std::size_t expected = number;
  members_->current.compare_exchange_strong(expected, number + 1);
  if (created) return end;
  return unreachable(
      name_, "watching", Milliseconds(0), member.endpoint + ": " + status.error_message());
}

Result<EtcdMemberStatus> EtcdClient::status_of(std::size_t number) {
  Member& member = members_->at(number);
  grpc::ClientContext context;
  context.set_deadline(in(settings_.call_deadline));
  pb::StatusResponse response;
  const grpc::Status status = member.is_connected(settings_.call_deadline)
                                  ? member.maintenance->Status(&context, {}, &response)
                                  : not_connected();
  if (!status.ok())
    return unreachable(name_,
                       "asking a member for its state",
                       settings_.call_deadline,
                       member.endpoint + ": " + status.error_message());
  return EtcdMemberStatus{
      response.header().member_id(), response.leader(), response.db_size(), response.version()};
}

}  // namespace orrery::runtime
