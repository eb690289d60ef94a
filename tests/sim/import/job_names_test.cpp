// Names of jobs out of ids that foreign files call whatever they like.
#include "sim/import/job_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/base/random.hpp"

namespace orrery::sim {
namespace job_names_tests {

// The definition: of the names with a number behind, the first that is not there yet.
std::string first_free(const std::string& wanted, std::set<std::string>& used) {
  std::string name = wanted;
  for (int number = 2; !used.insert(name).second; ++number) {
    const std::string tail = "-" + std::to_string(number);
    name = wanted.substr(0, 63 - tail.size()) + tail;
  }
  return "default." + name;
}

TEST(JobNames, AreDnsLabelsOfTheIdWhichIsKeptWhereItDiffers) {
  JobNames names;
  const auto name = [&](const std::string& id, const std::string& wanted_label) {
    std::string label;
    const std::string made = names.name(id, label);
    EXPECT_EQ(label, wanted_label) << id;
    return made;
  };
  EXPECT_EQ(name("job1", ""), "default.job1");
  EXPECT_EQ(name("Job_1", "Job_1"), "default.job-1");
  EXPECT_EQ(name("job.1", "job.1"), "default.job-1-2");
  EXPECT_EQ(name("--", "--"), "default.job");
}

TEST(JobNames, EqualOnesGetTheLeastNumberThatIsFree) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    JobNames names;
    std::set<std::string> used;
    for (int i = 0; i < 400; ++i) {
      // Long and short ids of few letters, and such as made names look like.
      std::string id(random.below(2) == 0 ? 1 : 57 + random.below(7), 'a');
      if (random.below(2) == 0) id.back() = 'b';
      if (random.below(3) == 0) id += "-" + std::to_string(random.below(120));
      id.resize(std::min<std::size_t>(id.size(), 63));
      if (id.back() == '-') continue;
      std::string label;
      ASSERT_EQ(names.name(id, label), first_free(id, used)) << "seed " << seed << ", " << id;
    }
  }
}

// Each counted from 2 on for itself, billions of names would be tried.
TEST(JobNames, ManyOfOneBeginningAreNumberedWithoutCountingAnew) {
  constexpr int kIds = 150'000;
  JobNames names;
  std::string label;
  std::string last;
  for (int i = 0; i < kIds; ++i) last = names.name(std::string(63, 'p') + std::to_string(i), label);
  EXPECT_EQ(last, "default." + std::string(56, 'p') + "-" + std::to_string(kIds));
}

// Names that differ in their last letters only are cut to the same ones.
TEST(JobNames, ThoseCutToOneBeginningShareItsNumbers) {
  JobNames names;
  std::string label;
  std::string last;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2 * 26 * 26 * 26; ++i) {
      std::string id(63, 'p');
      for (int left = i, at = 62; at >= 59; --at, left /= 26)
        id[static_cast<std::size_t>(at)] = static_cast<char>('a' + left % 26);
      last = names.name(id, label);
    }
  }
  EXPECT_EQ(last, "default." + std::string(57, 'p') + "-34655");
}

}  // namespace job_names_tests
}  // namespace orrery::sim
