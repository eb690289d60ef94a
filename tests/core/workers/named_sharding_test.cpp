// Grids of ranks with named axes.
#include "core/workers/named_sharding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/core/workers/grids.hpp"

namespace orrery::workers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NamedSharding sample() { return NamedSharding::grid({"dp", "pp", "tp"}, {1, 2, 4}).value(); }

TEST(NamedSharding, HasTheShapeAndTheRanksItWasGiven) {
  const NamedSharding grid = sample();
  EXPECT_THAT(grid.names(), ElementsAre("dp", "pp", "tp"));
  EXPECT_THAT(grid.shape(), ElementsAre(1, 2, 4));
  EXPECT_EQ(grid.size(), 8U);
  EXPECT_THAT(grid.ranks(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(grid.axis_index("pp").value(), 1U);
  EXPECT_EQ(grid.axis_size("dp").value(), 1);
  EXPECT_EQ(grid.axis_size("pp").value(), 2);
  EXPECT_EQ(grid.axis_size("tp").value(), 4);
  EXPECT_EQ(grid.text(), "dp=1 pp=2 tp=4: [[[0 1 2 3] [4 5 6 7]]]");
}

TEST(NamedSharding, AnswersByCoordinate) {
  const NamedSharding grid = sample();
  EXPECT_THAT(grid.ranks_where(std::vector<AxisIndex>{{"pp", 1}}).value(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(grid.ranks_where(std::vector<AxisIndex>{{"tp", 2}, {"dp", 0}}).value(),
              ElementsAre(2, 6));
  EXPECT_THAT(grid.ranks_where({}).value(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(grid.rank_at(std::vector{0, 0, 2}).value(), 2);
  EXPECT_THAT(grid.coordinates_of(6).value(), ElementsAre(0, 1, 2));
  EXPECT_THAT(grid.ranks_along("tp", 5).value(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(grid.ranks_along("pp", 5).value(), ElementsAre(1, 5));
  EXPECT_THAT(
      grid.groups_along("pp").value(),
      ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6), ElementsAre(3, 7)));
}

TEST(NamedSharding, ASliceKeepsTheOtherAxes) {
  const NamedSharding grid = sample();
  EXPECT_EQ(grid.slice(std::vector<AxisIndex>{{"dp", 0}}).value(),
            NamedSharding::grid({"pp", "tp"}, {2, 4}).value());
  EXPECT_EQ(grid.slice(std::vector<AxisIndex>{{"dp", 0}, {"pp", 1}}).value(),
            NamedSharding::make({"tp"}, {4}, {4, 5, 6, 7}).value());
  EXPECT_EQ(grid.slice(std::vector<AxisIndex>{{"dp", 0}, {"tp", 2}}).value(),
            NamedSharding::make({"pp"}, {2}, {2, 6}).value());
  EXPECT_EQ(grid.slice({}).value(), grid);
}

TEST(NamedSharding, EqualMeansEqualRanksAndNames) {
  const auto grid = [](std::vector<std::string> names, std::vector<std::int32_t> ranks) {
    return NamedSharding::make(std::move(names), {2, 2}, std::move(ranks)).value();
  };
  EXPECT_EQ(grid({"a", "b"}, {0, 1, 2, 3}), grid({"a", "b"}, {0, 1, 2, 3}));
  EXPECT_NE(grid({"a", "b"}, {0, 1, 2, 3}), grid({"a", "b"}, {0, 1, 2, 4}));
  EXPECT_NE(grid({"a", "b"}, {0, 1, 2, 3}), grid({"x", "b"}, {0, 1, 2, 3}));
}

struct BadGrid {
  std::vector<std::string> names;
  std::vector<std::int32_t> shape;
  std::vector<std::int32_t> ranks;
  std::vector<std::string> refusals;
};

TEST(NamedSharding, RefusesWhatIsNoGridAndSaysHowToMendIt) {
  const std::vector<BadGrid> cases{
      {{"dp", "pp", "tp"},
       {2, 2},
       {0, 1, 2, 3},
       {"named sharding: found 2 dimensions and 3 names, needed one name for each dimension; name "
        "every dimension"}},
      {{},
       {},
       {},
       {"named sharding: found no axis, needed at least one; name one axis for all ranks"}},
      {{"dp", "dp"},
       {2, 2},
       {0, 1, 2, 3},
       {"named sharding: found axis dp twice, needed different names; rename one"}},
      {{"", "tp"},
       {2, 0},
       {},
       {"named sharding: axis 0: found an empty name, needed a name; give it one",
        "named sharding: axis tp: found size 0, needed at least 1; leave out an axis without "
        "ranks"}},
      {{"dp", "pp"},
       {2, 2},
       {0, 1, 2, 0},
       {"named sharding: found rank 0 twice, needed each rank once; give every place its own "
        "rank"}},
      {{"dp", "pp"},
       {2, 2},
       {0, 1, -2},
       {"named sharding: found 3 ranks, needed 2 x 2; give each place of the grid one rank",
        "named sharding: found rank -2, needed ranks from 0; number them from 0"}},
  };
  for (const BadGrid& bad : cases) {
    const Result<NamedSharding> made = NamedSharding::make(bad.names, bad.shape, bad.ranks);
    EXPECT_EQ(refusals(made), bad.refusals);
    EXPECT_EQ(made.errors().front().code, ErrorCode::InvalidInput);
  }
  EXPECT_THAT(refusals(NamedSharding::grid({"a", "b"}, {2147483647, 2147483647})),
              ElementsAre(HasSubstr("found a grid of more than")));
}

TEST(NamedSharding, RefusesAxesIndicesAndRanksThatItDoesNotHave) {
  const NamedSharding grid = sample();
  const std::string axis =
      "named sharding: found axis 'xx', needed one of dp, pp, tp; name an axis of the grid";
  EXPECT_THAT(refusals(grid.axis_index("xx")), ElementsAre(axis));
  EXPECT_THAT(refusals(grid.axis_size("xx")), ElementsAre(axis));
  EXPECT_THAT(refusals(grid.ranks_along("xx", 0)), ElementsAre(axis));
  EXPECT_THAT(refusals(grid.groups_along("xx")), ElementsAre(axis));
  EXPECT_THAT(refusals(grid.slice(std::vector<AxisIndex>{{"xx", 0}, {"pp", 2}})),
              ElementsAre(axis,
                          "named sharding: axis pp: found index 2, needed 0 to 1; choose an index "
                          "of the axis"));
  EXPECT_THAT(refusals(grid.ranks_where(std::vector<AxisIndex>{{"tp", 4}})),
              ElementsAre(HasSubstr("axis tp: found index 4, needed 0 to 3")));
  EXPECT_THAT(refusals(grid.rank_at(std::vector{0, 0, -1})),
              ElementsAre(HasSubstr("axis tp: found index -1, needed 0 to 3")));
  EXPECT_THAT(refusals(grid.rank_at(std::vector{0})),
              ElementsAre(HasSubstr("found 1 coordinates, needed 3")));
  EXPECT_THAT(refusals(grid.ranks_where(std::vector<AxisIndex>{{"tp", 1}, {"tp", 2}})),
              ElementsAre(HasSubstr("found axis tp fixed twice")));
  EXPECT_THAT(refusals(grid.coordinates_of(8)), ElementsAre(HasSubstr("found rank 8, needed one")));
  EXPECT_THAT(refusals(grid.slice(std::vector<AxisIndex>{{"dp", 0}, {"pp", 0}, {"tp", 0}})),
              ElementsAre(HasSubstr("ask for the rank instead")));
  EXPECT_EQ(grid.axis_index("xx").errors().front().code, ErrorCode::NotFound);
}

TEST(NamedShardingProperty, PlacesAndRanksAreOneToOneAndLinesPartitionTheGrid) {
  const std::uint64_t seed = 20260824;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    const NamedSharding grid = random_grid(random);
    SCOPED_TRACE(grid.text());
    for (const std::int32_t rank : grid.ranks()) {
      const std::vector<std::int32_t> at = grid.coordinates_of(rank).value();
      EXPECT_EQ(grid.rank_at(at).value(), rank);
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        const std::string& name = grid.names()[axis];
        EXPECT_EQ(grid.ranks_along(name, rank).value()[static_cast<std::size_t>(at[axis])], rank);
        const std::vector<AxisIndex> fixed{{name, at[axis]}};
        EXPECT_THAT(grid.ranks_where(fixed).value(), ::testing::Contains(rank));
      }
    }
    for (const std::string& name : grid.names()) {
      std::multiset<std::int32_t> seen;
      const std::vector<std::vector<std::int32_t>> lines = grid.groups_along(name).value();
      for (const std::vector<std::int32_t>& line : lines) {
        EXPECT_EQ(line.size(), static_cast<std::size_t>(grid.axis_size(name).value()));
        EXPECT_EQ(grid.ranks_along(name, line.front()).value(), line);
        seen.insert(line.begin(), line.end());
      }
      EXPECT_EQ(seen, std::multiset<std::int32_t>(grid.ranks().begin(), grid.ranks().end()));
      std::size_t sliced = 0;
      for (std::int32_t index = 0; index < grid.axis_size(name).value(); ++index)
        sliced += grid.ranks_where(std::vector<AxisIndex>{{name, index}}).value().size();
      EXPECT_EQ(sliced, grid.size());
    }
  }
}

}  // namespace
}  // namespace orrery::workers
