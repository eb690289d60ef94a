// Pinned storms: some hundred seeds decide, order, tell and show what their golden file says.
//
// After a change of decisions or texts that is meant, write it anew, and say in the commit why:
//
//   ORRERY_BLESS=1 build/bin/test_storm --gtest_filter='Pins.*'
#include "sim/storm/pins.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "core/record/version.hpp"
#include "tests/sim/storm/storm_policies.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::sim {
namespace {

constexpr std::uint64_t kPinned = 900;
constexpr std::uint64_t kOlderEvery = 5;  ///< So many seeds have one under older rules.

constexpr const char* kGolden = "tests/sim/storm/pins.txt";  // From the root of the tree.

StormReport run_pin(const Pins& pins, const Pin& pin) {
  const auto plan = plan_pinned(pins, pin, tests::storm_policies());
  EXPECT_TRUE(plan);
  return tests::storm_once(*plan, true);
}

// Older rules had defects that newer ones have mended: where a seed shows one it is pinned under
// the present ones.
Pin bless(const Pins& pins, std::uint64_t seed) {
  Pin pin{seed, kDecisionRules, {}};
  if (seed % kOlderEvery == 0)
    pin.rules = static_cast<std::uint16_t>(seed / kOlderEvery % kDecisionRules);
  StormReport report = run_pin(pins, pin);
  if (!report.violations.empty() && pin.rules != kDecisionRules) {
    pin.rules = kDecisionRules;
    report = run_pin(pins, pin);
  }
  EXPECT_TRUE(report.violations.empty()) << "seed " << seed;
  pin.digests = report.decisions;
  return pin;
}

Result<Pins> golden() {
  std::ifstream in(kGolden, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return read_pins(text, kGolden);
}

// Of the policies and placers that the file names already; all where there is none.
void write_golden() {
  Pins pins;
  if (const auto kept = golden()) {
    pins.policies = kept->policies;
    pins.placers = kept->placers;
  } else {
    for (const scenarios::PolicyChoice& choice : tests::storm_policies())
      pins.policies.push_back(choice.name);
    pins.placers = placer_names();
  }
  for (std::uint64_t seed = 1; seed <= kPinned; ++seed) pins.seeds.push_back(bless(pins, seed));
  std::ofstream(kGolden, std::ios::binary) << text_of(pins);
}

TEST(Pins, StormsDecideAsPinned) {
  if (std::getenv("ORRERY_BLESS") != nullptr) write_golden();
  const auto pins = golden();
  ASSERT_TRUE(pins) << pins.errors().front().text();
  EXPECT_EQ(pins->seeds.size(), kPinned);
  for (const Pin& pin : std::span(pins->seeds).first(tests::count_of(kPinned / 6, kPinned))) {
    const StormReport report = run_pin(*pins, pin);
    ASSERT_TRUE(report.violations.empty())
        << "seed " << pin.seed << ": " << report.violations.front().text;
    EXPECT_EQ(pin_difference(pin, report.decisions), "") << "seed " << pin.seed;
  }
}

TEST(Pins, AreReadAsTheyAreWritten) {
  Pins pins{{"fifo", "easy"}, {"best_fit/1"}, {{7, 3, {1, 2, 3, 4, 0xffffffff}}, {8, 0, {}}}};
  const auto read = read_pins(text_of(pins), "pins.txt");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->policies, pins.policies);
  EXPECT_EQ(read->placers, pins.placers);
  EXPECT_EQ(read->seeds, pins.seeds);
  EXPECT_EQ(read->find(6), nullptr);
  EXPECT_EQ(read->find(9), nullptr);
  ASSERT_NE(read->find(8), nullptr);
  EXPECT_EQ(read->find(8)->seed, 8U);
}

TEST(Pins, ABrokenFileIsRefusedWithItsLines) {
  const auto text_for = [](const std::string& text) {
    const auto read = read_pins(text, "p.txt");
    return read ? "" : read.errors().front().text();
  };
  const std::string head = "policies fifo\nplacers best_fit/1\n";
  EXPECT_EQ(text_for("1 3 0 0 0 0 0\n"),
            "p.txt: pins: found no seed, no policy or no placer; name the file of pinned storms");
  EXPECT_EQ(text_for(head + "1 3 0 0 0 x 0\n"),
            "p.txt:3: pin: found \"1 3 0 0 0 x 0\", needed are a seed, its rules and 5 hexadecimal "
            "digests; write the file anew");
  EXPECT_EQ(
      text_for(head + "1 3 0 0 0 0 0\n3 3 0 0 0 0 0\n"),
      "p.txt:4: seed 3: stands behind seed 1, seeds follow each other without gaps; write the "
      "file anew");
  EXPECT_EQ(text_for(head + "1 3 0 0 0 0 0\n"), "");
}

TEST(Pins, APolicyThatIsGoneIsNamed) {
  const Pins pins{{"fifo", "oracle"}, {"best_fit/1"}, {{1, 3, {}}}};
  const auto plan = plan_pinned(pins, pins.seeds.front(), tests::storm_policies());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.errors().front().text(),
            "policies: policy oracle is pinned and is none of this program's; write the pins anew");
}

TEST(Pins, ADifferenceNamesItsParts) {
  const Pin pin{1, 3, {1, 2, 3, 4, 5}};
  EXPECT_EQ(pin_difference(pin, {1, 2, 3, 4, 5}), "");
  EXPECT_EQ(pin_difference(pin, {1, 9, 3, 9, 5}),
            "not as pinned: orders, statuses; see whether that is meant, then write the pins anew");
}

}  // namespace
}  // namespace orrery::sim
