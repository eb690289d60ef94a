#include "core/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace orrery {
namespace {

// How many hold what `held` points to, this one left out: what is lost or ended twice shows.
using Held = std::shared_ptr<int>;

Result<Held> failed(int line) {
  Error error;
  error.line = line;
  error.message = "long enough to have memory of its own, which a sanitizer watches";
  return error;
}

TEST(Result, EachFollowsEachOther) {
  for (const bool first_fails : {false, true})
    for (const bool second_fails : {false, true})
      for (const bool moves : {false, true}) {
        const Held first = std::make_shared<int>(1);
        const Held second = std::make_shared<int>(2);
        {
          Result<Held> result = first_fails ? failed(1) : Result<Held>(first);
          Result<Held> other = second_fails ? failed(2) : Result<Held>(second);
          if (moves) {
            result = std::move(other);
          } else {
            result = other;
          }
          EXPECT_EQ(first.use_count(), 1);
          EXPECT_EQ(second.use_count(), second_fails ? 1 : moves ? 2 : 3);
          ASSERT_EQ(result.has_value(), !second_fails);
          if (second_fails) {
            EXPECT_EQ(result.errors().front().line, 2);
          } else {
            EXPECT_EQ(result.value(), second);
          }
        }
        EXPECT_EQ(first.use_count(), 1);
        EXPECT_EQ(second.use_count(), 1);
      }
}

TEST(Result, MayBeGivenWhatItHolds) {
  const Held held = std::make_shared<int>(3);
  Result<Held> result = held;
  const Result<Held>& same = result;
  result = same;
  EXPECT_EQ(result.value(), held);
  EXPECT_EQ(held.use_count(), 2);
  Result<Held> error = failed(4);
  const Result<Held>& same_error = error;
  error = same_error;
  EXPECT_EQ(error.errors().front().line, 4);
}

TEST(Result, OfWhatOnlyMovesIsMovedToo) {
  using Owner = std::unique_ptr<int>;
  static_assert(!std::is_copy_constructible_v<Result<Owner>>);
  static_assert(std::is_nothrow_move_constructible_v<Result<Owner>>);
  std::vector<Result<Owner>> results;
  for (int i = 0; i < 9; ++i)
    results.emplace_back(std::make_unique<int>(i));  // Grows, and moves them.
  const Owner last = std::move(results.back()).value();
  EXPECT_EQ(*last, 8);
  EXPECT_EQ(*results.front().value(), 0);
}

TEST(ResultDeathTest, OfNeitherIsABug) {
  const Result<int> value = 5;
  EXPECT_DEATH((void)value.errors(), "errors\\(\\) of a successful Result");
  EXPECT_DEATH((void)failed(1).value(), "value\\(\\) of a failed Result");
  EXPECT_DEATH((void)Result<int>(Errors{}), "names at least one error");
}

}  // namespace
}  // namespace orrery
