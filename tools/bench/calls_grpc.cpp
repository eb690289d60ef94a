#include "tools/bench/calls_grpc.hpp"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/method_handler.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;
using grpc::ByteBuffer;

constexpr const char* kMethod = "/bench.Calls/Nothing";

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What generated code does, for bytes.
class Service final : public grpc::Service {
 public:
  Service() {
    AddMethod(new grpc::internal::RpcServiceMethod(
        kMethod,
        grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::
            RpcMethodHandler<Service, ByteBuffer, ByteBuffer, ByteBuffer, ByteBuffer>(
                [](Service*, grpc::ServerContext*, const ByteBuffer*, ByteBuffer* answer) {
                  *answer = ByteBuffer(nullptr, 0);
                  return grpc::Status::OK;
                },
                this)));
  }
};

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "gRPC: %s\n", what);
  std::exit(1);
}

}  // namespace

struct GrpcPeer::State {
  int socket = -1;
  pid_t pid = -1;
  std::shared_ptr<grpc::Channel> channel;
};

GrpcPeer::GrpcPeer() : state_(std::make_unique<State>()) {
  int pair[2];
  check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "no pair of sockets");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
  posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
  std::string program = "bench_calls";
  std::string argument = "grpc_server";
  char* arguments[] = {program.data(), argument.data(), nullptr};
  check(::posix_spawn(&state_->pid, "/proc/self/exe", &actions, nullptr, arguments, environ) == 0,
        "no process");
  posix_spawn_file_actions_destroy(&actions);
  ::close(pair[1]);
  state_->socket = pair[0];
  char text[32] = {};
  check(::read(state_->socket, text, sizeof text - 1) > 0, "the server said no port");
  grpc::ChannelArguments options;
  options.SetMaxReceiveMessageSize(-1);
  options.SetMaxSendMessageSize(-1);
  state_->channel =
      grpc::CreateCustomChannel(std::string("127.0.0.1:") + std::to_string(std::atoi(text)),
                                grpc::InsecureChannelCredentials(),
                                options);
  check(state_->channel->WaitForConnected(std::chrono::system_clock::now() +
                                          std::chrono::seconds(20)),
        "no connection");
}

GrpcPeer::~GrpcPeer() {
  state_->channel.reset();
  ::close(state_->socket);
  ::waitpid(state_->pid, nullptr, 0);
}

double GrpcPeer::call(std::size_t bytes) {
  const std::vector<char> data(bytes, 1);
  const Clock::time_point begin = Clock::now();
  const grpc::Slice slice(data.data(), data.size(), grpc::Slice::STATIC_SLICE);
  const ByteBuffer request(&slice, 1);
  ByteBuffer answer;
  grpc::ClientContext context;
  const grpc::internal::RpcMethod method(kMethod, grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Status status = grpc::internal::BlockingUnaryCall<ByteBuffer, ByteBuffer>(
      state_->channel.get(), method, &context, request, &answer);
  check(status.ok(), status.error_message().c_str());
  return seconds_since(begin);
}

double GrpcPeer::burst(int calls) {
  struct Call {
    grpc::ClientContext context;
    ByteBuffer answer;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  };

  grpc::GenericStub stub(state_->channel);
  grpc::CompletionQueue queue;
  std::vector<Call> all(static_cast<std::size_t>(calls));
  const ByteBuffer nothing(nullptr, 0);
  const Clock::time_point begin = Clock::now();
  for (Call& each : all) {
    each.reader = stub.PrepareUnaryCall(&each.context, kMethod, nothing, &queue);
    each.reader->StartCall();
    each.reader->Finish(&each.answer, &each.status, &each);
  }
  for (int i = 0; i < calls; ++i) {
    void* tag = nullptr;
    bool good = false;
    check(queue.Next(&tag, &good) && good && static_cast<Call*>(tag)->status.ok(), "a call failed");
  }
  return seconds_since(begin);
}

int serve_grpc() {
  Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(-1);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  check(server && port != 0, "the server does not listen");
  std::printf("%d\n", port);
  std::fflush(stdout);
  char end = 0;
  [[maybe_unused]] const ssize_t got = ::read(0, &end, 1);
  server->Shutdown();
  return 0;
}
