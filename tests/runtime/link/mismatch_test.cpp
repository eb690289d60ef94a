// Peers that speak something else: both sides say so and part.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "core/record/version.hpp"
#include "runtime/link/grpc_bounds.hpp"
#include "runtime/link/messages.hpp"
#include "runtime/proto/agent_link.grpc.pb.h"
#include "tests/runtime/link/listening.hpp"

namespace orrery::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kKey = "orrery-record-version";
const std::string kOurs = spoken_version();
const std::string kOther = std::to_string(kRecordVersion + 1);

/// An agent that says what it likes.
struct RawClient {
  explicit RawClient(const std::string& address)
      : stub(link::AgentLink::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  /// The status that ends its stream.
  grpc::Status talk(const std::string& version, const link::Batch& batch) {
    grpc::ClientContext context;
    if (!version.empty()) context.AddMetadata(kKey, version);
    const auto stream = stub->Attach(&context);
    stream->Write(batch);
    link::Batch answer;
    while (stream->Read(&answer)) {
    }
    return stream->Finish();
  }

  std::unique_ptr<link::AgentLink::Stub> stub;
};

TEST(LinkMismatch, TheServerRefusesAnotherVersion) {
  ServerSide side;
  const auto server = std::move(serve_links("127.0.0.1:0", {}, {}, side).value());
  RawClient client(server->address());
  const auto names_both = AllOf(HasSubstr("record version " + kOther),
                                HasSubstr("version " + kOurs),
                                HasSubstr("run the same release"));
  EXPECT_THAT(client.talk(kOther, {}).error_message(), names_both);
  const std::string records = std::to_string(kRecordVersion);
  for (const std::string& messages : {std::string(), "." + std::to_string(kLinkVersion - 1)})
    EXPECT_THAT(client.talk(records + messages, {}).error_message(),
                AllOf(HasSubstr("record version " + records + messages + ", "),
                      HasSubstr("version " + kOurs)));
  EXPECT_THAT(client.talk("", {}).error_message(), HasSubstr("no record version"));
  EXPECT_TRUE(side.heard.empty()) << "the listener heard of a stream that was refused";

  link::Batch batch;
  batch.set_record_version(kRecordVersion + 1);
  const auto names_records = AllOf(HasSubstr("record version " + kOther),
                                   HasSubstr("version " + std::to_string(kRecordVersion)),
                                   HasSubstr("run the same release"));
  EXPECT_THAT(client.talk(kOurs, batch).error_message(), names_records);
  ASSERT_TRUE(side.wait([&] { return side.heard[side.last()].closed; }));
  EXPECT_THAT(side.heard[side.last()].why, names_records);
}

TEST(LinkMismatch, TheServerRefusesWhatDoesNotDecode) {
  ServerSide side;
  const auto server = std::move(serve_links("127.0.0.1:0", {}, {}, side).value());
  RawClient client(server->address());
  link::Batch batch;
  batch.set_record_version(kRecordVersion);
  batch.add_messages(encode(AgentMessage(Reports{})));
  batch.add_messages("\xff\xff\xff");
  EXPECT_THAT(client.talk(kOurs, batch).error_message(), HasSubstr("does not decode"));
  ASSERT_TRUE(side.wait([&] { return side.heard[side.last()].closed; }));
  EXPECT_THAT(side.heard[side.last()].why, HasSubstr("does not decode"));
  EXPECT_TRUE(side.heard[side.last()].messages.empty()) << "half a batch was handed on";
}

/// A controller that says what it likes, then waits for its agent to leave.
class RawServer final : public link::AgentLink::Service {
 public:
  RawServer(std::string version, link::Batch batch)
      : version_(std::move(version)), batch_(std::move(batch)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status Attach(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<link::Batch, link::Batch>* stream) override {
    context->AddInitialMetadata(kKey, version_);
    stream->Write(batch_);
    link::Batch heard;
    while (stream->Read(&heard)) {
    }
    return grpc::Status::OK;
  }

 private:
  std::string version_;
  link::Batch batch_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(LinkMismatch, TheAgentLeavesAControllerOfAnotherVersion) {
  link::Batch batch;
  batch.set_record_version(kRecordVersion + 1);
  // Found at the greeting, and in a batch.
  for (const std::string& greeting : {kOther, kOurs}) {
    RawServer server(greeting, batch);
    ClientSide side;
    const auto dialer = std::move(dial_links({}).value());
    const auto client = dialer->open(server.address(), Duration::seconds(30), side);
    ASSERT_TRUE(side.wait_closed());
    EXPECT_EQ(side.heard.open, greeting == kOurs);
    EXPECT_THAT(side.heard.why,
                AllOf(HasSubstr("record version " + kOther), HasSubstr("run the same release")));
  }
}

TEST(LinkMismatch, TheAgentLeavesAControllerThatTalksNonsense) {
  link::Batch batch;
  batch.set_record_version(kRecordVersion);
  batch.add_messages(std::string(3, '\xff'));
  RawServer server(kOurs, batch);
  ClientSide side;
  const auto dialer = std::move(dial_links({}).value());
  const auto client = dialer->open(server.address(), Duration::seconds(30), side);
  ASSERT_TRUE(side.wait_closed());
  EXPECT_THAT(side.heard.why, HasSubstr("does not decode"));
}

}  // namespace
}  // namespace orrery::runtime
