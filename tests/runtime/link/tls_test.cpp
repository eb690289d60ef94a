// Peers that are let in under TLS, and those that are not.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/link/grpc_bounds.hpp"
#include "runtime/link/tls_contents.hpp"
#include "runtime/proto/agent_link.grpc.pb.h"
#include "tests/runtime/link/certificates.hpp"
#include "tests/runtime/link/listening.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::runtime {
namespace tls_tests {

using testing::HasSubstr;

constexpr Duration kOpenTimeout = Duration::seconds(30);

/// A server at 127.0.0.1 with a certificate for `serves`.
struct SecureServer {
  explicit SecureServer(TestAuthority& authority, const std::string& serves = "127.0.0.1")
      : link(std::move(
            serve_links("127.0.0.1:0", authority.issue("c0", "controller", serves), {}, side)
                .value())) {}

  ServerSide side;
  std::unique_ptr<LinkServer> link;
};

/// What became of a stream from a client with these files.
struct Attempt {
  Attempt(const TlsFiles& files, const std::string& address)
      : dialer(std::move(dial_links(files).value())),
        client(dialer->open(address, kOpenTimeout, side)) {
    side.wait_open();
  }

  ClientSide side;
  std::unique_ptr<LinkDialer> dialer;
  std::unique_ptr<LinkClient> client;
};

TEST(LinkTls, KnowsAnAgentByItsCertificate) {
  TestAuthority authority("ours");
  SecureServer server(authority);
  const Attempt attempt(authority.issue("n7", "agent"), server.link->address());
  ASSERT_TRUE(attempt.side.heard.open) << attempt.side.heard.why;
  const Peer peer = server.side.heard[server.side.last()].peer;
  EXPECT_TRUE(peer.authenticated);
  EXPECT_EQ(peer.name, "n7");
  EXPECT_EQ(peer.role, "agent");
}

TEST(LinkTls, OnlyAgentsGetAStream) {
  TestAuthority authority("ours");
  SecureServer server(authority);
  for (const char* role : {"user", "admin", "controller", ""}) {
    const Attempt attempt(authority.issue("n7", role), server.link->address());
    EXPECT_FALSE(attempt.side.heard.open) << role;
    EXPECT_THAT(attempt.side.heard.why, HasSubstr("needed one of an agent"));
  }
  EXPECT_TRUE(server.side.heard.empty());
}

TEST(LinkTls, OneNameHasAFewStreamsOnly) {
  TestAuthority authority("ours");
  SecureServer server(authority);
  const TlsFiles files = authority.issue("n7", "agent");
  std::vector<std::unique_ptr<Attempt>> attempts;
  for (std::size_t i = 0; i < LinkLimits{}.streams_per_name_max; ++i) {
    attempts.push_back(std::make_unique<Attempt>(files, server.link->address()));
    EXPECT_TRUE(attempts.back()->side.heard.open) << attempts.back()->side.heard.why;
  }
  const Attempt one_more(files, server.link->address());
  EXPECT_FALSE(one_more.side.heard.open);
  EXPECT_THAT(one_more.side.heard.why, HasSubstr("agent n7 has 8 streams already"));
  const Attempt another(authority.issue("n8", "agent"), server.link->address());
  EXPECT_TRUE(another.side.heard.open) << another.side.heard.why;
}

TEST(LinkTls, StrangersDoNotGetIn) {
  TestAuthority ours("ours");
  TestAuthority theirs("theirs");
  SecureServer server(ours);
  {
    const Attempt plain({}, server.link->address());
    EXPECT_FALSE(plain.side.heard.open);
  }
  TlsFiles foreign = theirs.issue("n7", "agent");
  foreign.ca = ours.ca_file();  // It trusts the server; the server does not trust it.
  const Attempt attempt(foreign, server.link->address());
  EXPECT_FALSE(attempt.side.heard.open);
  EXPECT_NE(attempt.side.heard.why, "");
  EXPECT_TRUE(server.side.heard.empty());
}

TEST(LinkTls, WithoutACertificateNoPeerGetsIn) {
  TestAuthority authority("ours");
  SecureServer server(authority);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = text_of_file(authority.ca_file());
  const auto channel = grpc::CreateChannel(server.link->address(), grpc::SslCredentials(options));
  grpc::ClientContext context;
  context.AddMetadata(kRecordVersionKey, spoken_version());
  const auto stub = link::AgentLink::NewStub(channel);
  const auto stream = stub->Attach(&context);
  link::Batch batch;
  EXPECT_FALSE(stream->Read(&batch));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(server.side.heard.empty());
}

TEST(LinkTls, AnAgentDoesNotTrustAStrangersServer) {
  TestAuthority ours("ours");
  TestAuthority theirs("theirs");
  SecureServer stranger(theirs);
  TlsFiles files = theirs.issue("n7", "agent");  // Would get in, but does not want to.
  files.ca = ours.ca_file();
  const Attempt attempt(files, stranger.link->address());
  EXPECT_FALSE(attempt.side.heard.open);
  EXPECT_TRUE(stranger.side.heard.empty());
}

TEST(LinkTls, TheServersCertificateMustBeOfItsAddress) {
  TestAuthority authority("ours");
  SecureServer elsewhere(authority, "192.0.2.1");
  const Attempt attempt(authority.issue("n7", "agent"), elsewhere.link->address());
  EXPECT_FALSE(attempt.side.heard.open);
  EXPECT_TRUE(elsewhere.side.heard.empty());
}

TEST(LinkTls, FilesThatDoNotServeAreNamed) {
  TestAuthority authority("ours");
  const TlsFiles one = authority.issue("n1", "agent");
  const TlsFiles other = authority.issue("n2", "agent");
  const auto refusal = [](const TlsFiles& files) {
    const auto dialer = dial_links(files);
    EXPECT_FALSE(dialer);
    std::string all;
    if (!dialer)
      for (const Error& error : dialer.errors()) all += error.text() + "\n";
    return all;
  };
  EXPECT_THAT(refusal({.ca = one.ca, .certificate = one.certificate, .key = other.key}),
              HasSubstr("is not the key of"));
  const std::string missing = refusal({.ca = one.ca + ".no", .certificate = one.certificate});
  EXPECT_THAT(missing, HasSubstr("cannot be read"));
  EXPECT_THAT(missing, HasSubstr("tls.key: no file is named"));
  const std::string swapped = refusal({.ca = one.ca, .certificate = one.key, .key = one.ca});
  EXPECT_THAT(swapped, HasSubstr("holds no certificate"));
  EXPECT_THAT(swapped, HasSubstr("holds no private key"));
}

TEST(LinkTls, ACertificateOfAnotherAuthorityThanTheDaemonsOwnIsTold) {
  TestAuthority ours("ours");
  TestAuthority theirs("theirs");
  TestAuthority same_name("ours");
  const TlsFiles sound = ours.issue("n1", "agent");
  EXPECT_TRUE(check_own_authority(sound).has_value());
  for (TestAuthority* const other : {&theirs, &same_name}) {
    TlsFiles files = sound;
    files.ca = other->ca_file();
    const Status told = check_own_authority(files);
    ASSERT_FALSE(told.has_value());
    EXPECT_THAT(told.errors().front().text(),
                AllOf(HasSubstr(files.certificate + ": was signed by another authority, 'ours',"),
                      HasSubstr(" than " + files.ca)));
  }
  // As while the authority of a cluster is exchanged.
  TemporaryFolder folder;
  TlsFiles both = sound;
  both.ca = folder.file("both.pem");
  std::ofstream(both.ca) << text_of_file(theirs.ca_file()) << text_of_file(ours.ca_file());
  EXPECT_TRUE(check_own_authority(both).has_value());
}

TEST(LinkTls, AKeyThatOthersCanReadIsRefused) {
  TestAuthority authority("ours");
  const TlsFiles files = authority.issue("n1", "agent");
  EXPECT_TRUE(dial_links(files).has_value());
  std::filesystem::permissions(files.key, std::filesystem::perms(0604));
  const auto dialer = dial_links(files);
  ASSERT_FALSE(dialer.has_value());
  EXPECT_THAT(dialer.errors().front().text(), HasSubstr("mode 0604 found"));
}

}  // namespace tls_tests
}  // namespace orrery::runtime
