// HTTP over TLS: which clients are let in, and in which role.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/security/authority.hpp"
#include "tests/runtime/http/http_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::tests {
namespace {

using runtime::Holder;
using runtime::KeyPair;
using testing::HasSubstr;

class OneToken final : public http::Authenticator {
 public:
  std::optional<http::Identity> identify(std::string_view token) override {
    if (token == "secret") return http::Identity{http::Role::User, "ann"};
    return std::nullopt;
  }
};

// Frees what OpenSSL made.
template <class T>
struct Free {
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }

  void operator()(SSL* p) const { SSL_free(p); }
};

class TlsTest : public HttpTest {
 protected:
  TlsTest() {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    validity_ = {Instant{std::chrono::nanoseconds(since_epoch).count()}, Duration::seconds(3600)};
    authority_ = runtime::make_authority(validity_).value();
    save("ca", {{}, authority_.certificate});
    make("server", authority_, {runtime::Role::Controller, "c0"});
    options.tls = {file("ca.crt"), file("server.crt"), file("server.key")};
    options.tokens = &tokens_;
  }

  std::string file(const std::string& name) const { return folder_.file(name); }

  void save(const std::string& name, const KeyPair& pair) const {
    std::ofstream(file(name + ".crt")) << pair.certificate;
    std::ofstream(file(name + ".key")) << pair.key;
    std::filesystem::permissions(file(name + ".key"), std::filesystem::perms(0600));
  }

  void make(const std::string& name, const KeyPair& authority, const Holder& holder) const {
    save(name, runtime::issue(authority, {holder, {"127.0.0.1"}}, validity_).value());
  }

  /// One request over TLS; with the certificate of this name, or none. Empty: no answer came.
  std::string ask(const std::string& target,
                  const std::string& certificate = {},
                  const std::string& headers = {},
                  const std::string& method = "GET") const {
    const std::unique_ptr<SSL_CTX, Free<SSL_CTX>> context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_load_verify_locations(context.get(), file("ca.crt").c_str(), nullptr);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (!certificate.empty()) {
      SSL_CTX_use_certificate_file(
          context.get(), file(certificate + ".crt").c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(
          context.get(), file(certificate + ".key").c_str(), SSL_FILETYPE_PEM);
    }
    const HttpClient connection(address());
    const std::unique_ptr<SSL, Free<SSL>> ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), connection.descriptor());
    if (SSL_connect(ssl.get()) != 1) return {};
    const std::string text = method + " " + target +
                             " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
                             "\r\n";
    SSL_write(ssl.get(), text.data(), static_cast<int>(text.size()));
    std::string out;
    std::array<char, 4096> bytes;
    for (int got = 0; (got = SSL_read(ssl.get(), bytes.data(), bytes.size())) > 0;)
      out.append(bytes.data(), static_cast<std::size_t>(got));
    ERR_clear_error();
    return out;
  }

  static std::string status(const std::string& answer) {
    return answer.empty() ? "none" : answer.substr(9, 3);
  }

  TemporaryFolder folder_;
  runtime::Validity validity_;
  KeyPair authority_;
  OneToken tokens_;
};

TEST_F(TlsTest, WithTlsAnyAddressMayBeListenedAt) {
  options.address = "0.0.0.0:0";
  serve();
  EXPECT_THAT(front->url(), testing::StartsWith("https://"));
}

TEST_F(TlsTest, ACertificateOfTheAuthorityLetsItsRoleIn) {
  serve();
  make("user", authority_, {runtime::Role::User, "bob"});
  make("agent", authority_, {runtime::Role::Agent, "n7"});
  EXPECT_EQ(status(ask("/api/v1/jobs", "user")), "200");
  const std::string denied = ask("/api/v1/jobs", "agent");
  EXPECT_EQ(status(denied), "403");
  EXPECT_THAT(denied, HasSubstr("agent n7"));
  EXPECT_EQ(status(ask("/api/v1/jobs/a/members", "agent")), "404") << "members are for agents too";
}

TEST_F(TlsTest, WithoutACertificateATokenIsNeeded) {
  serve();
  EXPECT_EQ(status(ask("/healthz")), "200");
  const std::string denied = ask("/api/v1/jobs");
  EXPECT_EQ(status(denied), "401");
  EXPECT_THAT(denied, HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_EQ(status(ask("/api/v1/jobs", {}, "Authorization: Bearer secret\r\n")), "200");
  EXPECT_EQ(status(ask("/api/v1/jobs", {}, "Authorization: Bearer guess\r\n")), "401");
}

TEST_F(TlsTest, UsersMayNotExcludeNodes) {
  serve();
  make("admin", authority_, {runtime::Role::Admin, "eve"});
  const std::string node = "/api/v1/nodes/n0/exclude";
  EXPECT_EQ(status(ask(node, {}, "Authorization: Bearer secret\r\n", "POST")), "403");
  EXPECT_EQ(status(ask(node, "admin", {}, "POST")), "200");
}

TEST_F(TlsTest, ACertificateOfAnotherAuthorityIsTurnedAway) {
  serve();
  make("stranger", runtime::make_authority(validity_).value(), {runtime::Role::Admin, "mallory"});
  EXPECT_EQ(status(ask("/healthz", "stranger")), "none");
}

TEST_F(TlsTest, PlaintextIsTurnedAway) {
  serve();
  HttpClient client(address());
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(TlsTest, FilesThatCannotBeReadAreNamed) {
  options.tls.certificate = file("nothing.crt");
  options.address = "127.0.0.1:0";
  const auto served = http::serve_http(control, options);
  ASSERT_FALSE(served.has_value());
  EXPECT_THAT(served.errors().front().text(), HasSubstr("nothing.crt"));
}

TEST_F(TlsTest, AKeyThatOthersCanReadIsRefused) {
  const std::string key = file("server.key");
  for (const unsigned mode : {0644u, 0640u, 0602u}) {
    if (mode == 0640 && geteuid() == 0) continue;  // A key of root is its group's to read.
    std::filesystem::permissions(key, std::filesystem::perms(mode));
    const auto served = http::serve_http(control, options);
    ASSERT_FALSE(served.has_value()) << mode;
    EXPECT_THAT(served.errors().front().text(), HasSubstr("chmod 600 " + key));
  }
  std::filesystem::permissions(key, std::filesystem::perms(0400));
  EXPECT_TRUE(http::serve_http(control, options).has_value());
}

}  // namespace
}  // namespace orrery::tests
