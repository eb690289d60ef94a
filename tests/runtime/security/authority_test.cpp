#include "runtime/security/authority.hpp"

#include <gmock/gmock.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <memory>

namespace orrery::runtime {
namespace {

struct Freed {
  void operator()(X509* it) const { X509_free(it); }

  void operator()(X509_STORE* it) const { X509_STORE_free(it); }

  void operator()(X509_STORE_CTX* it) const { X509_STORE_CTX_free(it); }

  void operator()(SSL_CTX* it) const { SSL_CTX_free(it); }

  void operator()(SSL* it) const { SSL_free(it); }

  void operator()(EVP_PKEY* it) const { EVP_PKEY_free(it); }

  void operator()(BIO* it) const { BIO_free(it); }
};

template <class T>
using Owned = std::unique_ptr<T, Freed>;

constexpr Duration kYear = Duration::seconds(365 * 86400);

/// The library judges certificates by the clock of the machine.
Instant now() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()};
}

Owned<BIO> memory_of(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<X509> certificate_of(const KeyPair& pair) {
  return Owned<X509>(
      PEM_read_bio_X509(memory_of(pair.certificate).get(), nullptr, nullptr, nullptr));
}

Owned<EVP_PKEY> key_of(const KeyPair& pair) {
  return Owned<EVP_PKEY>(
      PEM_read_bio_PrivateKey(memory_of(pair.key).get(), nullptr, nullptr, nullptr));
}

/// What OpenSSL says of the chain from `leaf`, through `between` where it is one, to `authority`
/// for `purpose`.
int verified(const KeyPair& authority,
             const KeyPair& leaf,
             int purpose,
             const KeyPair* between = nullptr) {
  const Owned<X509_STORE> store(X509_STORE_new());
  const Owned<X509> root = certificate_of(authority);
  const Owned<X509> certificate = certificate_of(leaf);
  X509_STORE_add_cert(store.get(), root.get());
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  STACK_OF(X509)* const chain = sk_X509_new_null();
  const Owned<X509> middle = between == nullptr ? nullptr : certificate_of(*between);
  if (middle) sk_X509_push(chain, middle.get());
  X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), chain);
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context.get()), X509_V_FLAG_X509_STRICT);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_verify_cert(context.get());
  sk_X509_free(chain);
  return X509_STORE_CTX_get_error(context.get());
}

KeyPair authority() { return make_authority({now(), kYear * 10}).value(); }

KeyPair issued(const KeyPair& by, Holder holder, std::vector<std::string> hosts = {}) {
  return issue(by, {std::move(holder), std::move(hosts)}, {now(), kYear}).value();
}

/// One end of a TLS connection in memory that asks the other end for a certificate of `by`.
Owned<SSL> end_of(const KeyPair& by, const KeyPair& own, bool serves, const std::string& host) {
  const Owned<SSL_CTX> context(SSL_CTX_new(serves ? TLS_server_method() : TLS_client_method()));
  SSL_CTX_use_certificate(context.get(), certificate_of(own).get());
  SSL_CTX_use_PrivateKey(context.get(), key_of(own).get());
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), certificate_of(by).get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  Owned<SSL> end(SSL_new(context.get()));
  if (!host.empty()) SSL_set1_host(end.get(), host.c_str());
  return end;
}

/// Whether both ends agree to talk.
bool shake_hands(SSL& server, SSL& client) {
  BIO* one = nullptr;
  BIO* other = nullptr;
  BIO_new_bio_pair(&one, 0, &other, 0);
  SSL_set_bio(&server, one, one);
  SSL_set_bio(&client, other, other);
  SSL_set_accept_state(&server);
  SSL_set_connect_state(&client);
  for (int round = 0; round < 20; ++round) {
    const int asked = SSL_do_handshake(&client);
    const int answered = SSL_do_handshake(&server);
    if (asked == 1 && answered == 1) return true;
  }
  ERR_clear_error();
  return false;
}

TEST(Authority, ItsCertificatesAreSoundForWhatTheyAreFor) {
  const KeyPair ca = authority();
  const KeyPair controller = issued(ca, {Role::Controller, "c"}, {"controller.example"});
  EXPECT_EQ(verified(ca, controller, X509_PURPOSE_SSL_SERVER), X509_V_OK);
  EXPECT_EQ(verified(ca, controller, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  for (const Role role : {Role::Agent, Role::User, Role::Admin}) {
    const KeyPair pair = issued(ca, {role, "a"});
    EXPECT_EQ(verified(ca, pair, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
    EXPECT_EQ(verified(ca, pair, X509_PURPOSE_SSL_SERVER), X509_V_ERR_INVALID_PURPOSE)
        << "a certificate of another role must not pass for a controller's";
  }
}

TEST(Authority, CertificatesOfAnotherOneAreRefused) {
  const KeyPair pair = issued(authority(), {Role::Agent, "a"});
  EXPECT_EQ(verified(authority(), pair, X509_PURPOSE_SSL_CLIENT),
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
}

TEST(Authority, NoHolderMaySignForOthers) {
  const KeyPair ca = authority();
  const KeyPair agent = issued(ca, {Role::Agent, "a"});
  const KeyPair forged = issued(agent, {Role::Admin, "mallory"});
  EXPECT_EQ(verified(ca, forged, X509_PURPOSE_SSL_CLIENT, &agent), X509_V_ERR_INVALID_CA);
}

TEST(Authority, CertificatesEnd) {
  const KeyPair ca = make_authority({now() - kYear, kYear * 10}).value();
  const Validity past{now() - kYear, Duration::seconds(86400)};
  const KeyPair pair = issue(ca, {{Role::Agent, "a"}, {}}, past).value();
  EXPECT_EQ(verified(ca, pair, X509_PURPOSE_SSL_CLIENT), X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST(Authority, NoCertificateOutlivesIt) {
  const KeyPair ca = make_authority({now(), kYear}).value();
  const KeyPair pair = issue(ca, {{Role::Agent, "a"}, {}}, {now(), kYear * 5}).value();
  EXPECT_EQ(read_certificate(pair.certificate)->expires, read_certificate(ca.certificate)->expires);
}

TEST(Authority, RoleAndNameCanBeReadBack) {
  const KeyPair ca = authority();
  for (const Role role : {Role::Controller, Role::Agent, Role::User, Role::Admin}) {
    const auto facts = read_certificate(issued(ca, {role, "gpu-1"}).certificate);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->role, to_string(role));
    EXPECT_EQ(facts->name, "gpu-1");
    EXPECT_GT(facts->expires, now());
  }
  EXPECT_FALSE(read_certificate("no certificate"));
  EXPECT_FALSE(read_certificate(""));
}

TEST(Authority, RefusesNamesThatWouldMeanSomethingElse) {
  const KeyPair ca = authority();
  const auto refused = [&](Holder holder, std::vector<std::string> hosts) {
    return !issue(ca, {std::move(holder), std::move(hosts)}, {now(), kYear});
  };
  EXPECT_TRUE(refused({Role::Agent, "Gpu.1"}, {}));
  EXPECT_TRUE(refused({Role::User, ""}, {}));
  EXPECT_TRUE(refused({Role::User, "a/b"}, {}));
  EXPECT_TRUE(refused({Role::User, "../a"}, {}));
  EXPECT_TRUE(refused({Role::User, std::string(64, 'a')}, {}));
  EXPECT_TRUE(refused({Role::Controller, "c"}, {"a,IP:10.0.0.1"}));
  EXPECT_TRUE(refused({Role::Controller, "c"}, {"10.0.0.1:80"}));
  EXPECT_TRUE(refused({Role::Controller, "c"}, {""}));
  EXPECT_FALSE(refused({Role::User, "ann.b_c-d@example.org"}, {}));
  const auto both = issue(ca, {{Role::Agent, "X"}, {"a b"}}, {now(), kYear});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.errors().size(), 2U) << "all that is wrong is said at once";
}

TEST(Authority, NeedsItsOwnKey) {
  KeyPair ca = authority();
  ca.key = authority().key;
  EXPECT_FALSE(issue(ca, {{Role::User, "a"}, {}}, {now(), kYear}));
  EXPECT_FALSE(issue({"", ""}, {{Role::User, "a"}, {}}, {now(), kYear}));
}

TEST(Authority, ControllersAndAgentsOfOneShakeHands) {
  const KeyPair ca = authority();
  const KeyPair controller =
      issued(ca, {Role::Controller, "c"}, {"controller.example", "10.0.0.1", "::1"});
  const KeyPair agent = issued(ca, {Role::Agent, "gpu-1"});
  const auto talk =
      [&](const KeyPair& client_trusts, const KeyPair& client, const std::string& host) {
        const Owned<SSL> server = end_of(ca, controller, true, "");
        const Owned<SSL> other = end_of(client_trusts, client, false, host);
        return shake_hands(*server, *other);
      };
  EXPECT_TRUE(talk(ca, agent, "controller.example"));
  EXPECT_TRUE(talk(ca, agent, "10.0.0.1"));
  EXPECT_TRUE(talk(ca, agent, "::1"));
  EXPECT_FALSE(talk(ca, agent, "elsewhere.example"));
  const KeyPair other_ca = authority();
  EXPECT_FALSE(talk(ca, issued(other_ca, {Role::Agent, "gpu-1"}), "10.0.0.1"))
      << "an agent of another authority";
  EXPECT_FALSE(talk(other_ca, agent, "10.0.0.1")) << "an agent that trusts another authority";
}

}  // namespace
}  // namespace orrery::runtime
