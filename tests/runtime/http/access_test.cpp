// The client of a request, and what it may do.
#include "runtime/http/access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::http {
namespace {

using testing::HasSubstr;

class OneToken final : public Authenticator {
 public:
  std::optional<Identity> identify(std::string_view token) override {
    if (token == "secret") return Identity{Role::User, "ann"};
    return std::nullopt;
  }
};

Request encrypted() {
  Request out;
  out.connection.encrypted = true;
  return out;
}

Request with_certificate(std::string role) {
  Request out = encrypted();
  out.connection.has_certificate = true;
  out.connection.certificate_role = std::move(role);
  out.connection.certificate_name = "n7";
  return out;
}

TEST(Access, WithoutEncryptionEverybodyIsAnAdministrator) {
  Identity identity;
  EXPECT_EQ(identify(Request{}, nullptr, identity).status, 0);
  EXPECT_EQ(identity.role, Role::Admin);
}

TEST(Access, ATokenGoesBeforeEverythingElse) {
  OneToken tokens;
  for (Request request : {Request{}, encrypted(), with_certificate("admin")}) {
    Identity identity;
    request.headers = {{"authorization", "bearer secret"}};
    EXPECT_EQ(identify(request, &tokens, identity).status, 0);
    EXPECT_EQ(identity.role, Role::User);
    EXPECT_EQ(identity.name, "ann");
    request.headers[0].value = "Bearer other";
    EXPECT_EQ(identify(request, &tokens, identity).status, 401);
    EXPECT_EQ(identify(request, nullptr, identity).status, 401);
    request.headers[0].value = "Basic YTpi";
    EXPECT_THAT(identify(request, &tokens, identity).message, HasSubstr("Bearer"));
  }
}

TEST(Access, AWorkersTokenIsTakenDownAndOpensTheRoutesForWorkersAlone) {
  OneToken tokens;
  for (Request request : {Request{}, encrypted(), with_certificate("admin")}) {
    Identity identity;
    request.headers = {{"Authorization", "Bearer orrery_worker_1234"}};
    EXPECT_EQ(identify(request, &tokens, identity).status, 0);
    EXPECT_EQ(identity.role, Role::Worker);
    EXPECT_EQ(identity.token, "orrery_worker_1234");
    EXPECT_EQ(check_role(identity, Role::User, true).status, 0);
    EXPECT_EQ(check_role(identity, Role::Agent).status, 403);
    EXPECT_EQ(check_role(identity, Role::User).status, 403);
  }
  EXPECT_EQ(check_role({Role::Agent, "n7", {}}, Role::User, true).status, 403);
}

TEST(Access, ACertificateSaysRoleAndName) {
  Identity identity;
  EXPECT_EQ(identify(with_certificate("agent"), nullptr, identity).status, 0);
  EXPECT_EQ(identity.role, Role::Agent);
  EXPECT_EQ(identity.name, "n7");
  for (const char* role : {"", "nobody", "root", "Admin", "worker"}) {
    const Denial denial = identify(with_certificate(role), nullptr, identity);
    EXPECT_EQ(denial.status, 403) << role;
    EXPECT_THAT(denial.message, HasSubstr("n7"));
  }
}

TEST(Access, ARoleMayWhatThoseBelowItMay) {
  EXPECT_EQ(check_role({Role::Admin, "a"}, Role::User).status, 0);
  EXPECT_EQ(check_role({Role::User, "a"}, Role::User).status, 0);
  EXPECT_EQ(check_role({Role::Agent, "n7"}, Role::User).status, 403);
  EXPECT_THAT(check_role({Role::Agent, "n7"}, Role::User).message, HasSubstr("agent n7"));
  EXPECT_EQ(check_role({}, Role::Agent).status, 401);
}

TEST(Access, PagesOfOthersAreNotAnswered) {
  Request request;
  for (const char* host :
       {"localhost:1", "LocalHost:1", "127.0.0.1", "127.3.2.1:80", "[::1]:22100", ""}) {
    request.headers = {{"Host", host}};
    EXPECT_EQ(check_origin(request).status, 0) << host;
  }
  for (const char* host : {"evil.example",
                           "127.0.0.1.evil.example",
                           "127.0.0.1evil",
                           "[::2]:1",
                           "[::1]evil",
                           "[::1",
                           "localhost:80x"}) {
    request.headers = {{"Host", host}};
    EXPECT_EQ(check_origin(request).status, 403) << host;
  }
  request.headers = {{"Host", "localhost:1"}, {"host", "localhost:1"}};
  EXPECT_EQ(check_origin(request).status, 400) << "two hosts";
  request.headers.clear();
  EXPECT_EQ(check_origin(request).status, 400) << "none";
  request.http_1_0 = true;
  EXPECT_EQ(check_origin(request).status, 0);
  request.http_1_0 = false;
  request.headers = {{"Host", "localhost:1"}, {"Origin", "http://localhost:1"}};
  EXPECT_EQ(check_origin(request).status, 0);
  for (const char* origin : {"http://evil.example", "http://localhost:2", "null"}) {
    request.headers[1].value = origin;
    EXPECT_EQ(check_origin(request).status, 403) << origin;
  }
}

}  // namespace
}  // namespace orrery::http
