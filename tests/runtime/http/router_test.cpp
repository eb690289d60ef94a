// Paths, queries, routes.
#include "runtime/http/router.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Target, APathComesInDecodedParts) {
  const Result<Target> target = read_target("/api/v1/jobs/a%2Eb%2f/x/?q=1");
  ASSERT_TRUE(target.has_value());
  EXPECT_THAT(target->parts, ElementsAre("api", "v1", "jobs", "a.b/", "x"));
}

TEST(Target, TheRootHasNoParts) {
  EXPECT_THAT(read_target("/").value().parts, IsEmpty());
  EXPECT_THAT(read_target("http://host:80").value().parts, IsEmpty());
  EXPECT_THAT(read_target("http://host:80/x?y").value().parts, ElementsAre("x"));
}

TEST(Target, BadEscapesAreRefused) {
  for (const char* text : {"/%", "/%1", "/%zz", "/a%00b", "/?a=%", "/?%f", "*", "", "x/y"})
    EXPECT_FALSE(read_target(text).has_value()) << text;
}

TEST(Query, ValuesAreTakenOnceAndWhatIsLeftIsUnknown) {
  Query query = read_target("/?a=1+2%2B&b&a=x&c=7&d").value().query;
  EXPECT_EQ(query.take("a"), "1 2+");
  EXPECT_EQ(query.take("a"), "x");
  EXPECT_EQ(query.take("a"), std::nullopt);
  EXPECT_TRUE(query.take_flag("b"));
  EXPECT_EQ(query.take_number("c", 0, 1, 9), 7u);
  const Errors errors = query.errors("a, b, c");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].subject, "query d");
  EXPECT_THAT(errors[0].message, HasSubstr("a, b, c"));
}

TEST(Query, AWrongNumberIsNamedWithItsBounds) {
  for (const char* text :
       {"/?n=x", "/?n=", "/?n=-1", "/?n=0", "/?n=10", "/?n=99999999999999999999"}) {
    Query query = read_target(text).value().query;
    EXPECT_EQ(query.take_number("n", 5, 1, 9), 5u);
    ASSERT_EQ(query.errors("").size(), 1u) << text;
    EXPECT_THAT(query.errors("")[0].message, HasSubstr("1 to 9"));
  }
}

class Routes : public testing::Test {
 protected:
  Routes() {
    router.add("GET", "/jobs", Role::User, {});
    router.add("GET", "/jobs/{job}", Role::User, {});
    router.add("DELETE", "/jobs/{job}", Role::User, {});
    router.add("GET", "/jobs/{job}/logs", Role::User, {});
  }

  Router::Match find(std::string_view method, std::string_view path) {
    return router.find(method, read_target(path).value().parts);
  }

  Router router;
};

TEST_F(Routes, ValuesOfThePathHaveNames) {
  const Router::Match match = find("GET", "/jobs/default.a/logs");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->path, "/jobs/{job}/logs");
  EXPECT_THAT(match.values, ElementsAre(testing::Pair("job", "default.a")));
}

TEST_F(Routes, HeadIsServedAsGet) {
  ASSERT_NE(find("HEAD", "/jobs").route, nullptr);
  EXPECT_EQ(find("HEAD", "/jobs").route->method, "GET");
}

TEST_F(Routes, AnotherMethodIsToldWhichThereAre) {
  const Router::Match match = find("PATCH", "/jobs/a");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_THAT(match.allowed, ElementsAre("GET", "DELETE"));
}

TEST_F(Routes, AnotherPathHasNoMethods) {
  EXPECT_THAT(find("GET", "/job").allowed, IsEmpty());
  EXPECT_THAT(find("GET", "/jobs/a/logs/x").allowed, IsEmpty());
  EXPECT_THAT(find("GET", "/jobs//logs").allowed, IsEmpty());
}

}  // namespace
}  // namespace orrery::http
