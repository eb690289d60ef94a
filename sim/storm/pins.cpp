#include "sim/storm/pins.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "sim/storm/storm_plan.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kHead =
    "# What pinned storms decide, 32 bits of a digest for each part. Written by\n"
    "#   ORRERY_BLESS=1 build/bin/test_storm --gtest_filter='Pins.*'\n"
    "# docs/testing.md, Storms, says what it is for.\n";

template <class T>
bool number(const std::string& word, int base, T& out) {
  const char* const end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data(), end, out, base);
  return !word.empty() && code == std::errc() && stop == end;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool read_pin(const std::vector<std::string>& words, Pin& pin) {
  if (words.size() != 2 + kDecisionParts) return false;
  bool good = number(words[0], 10, pin.seed) && number(words[1], 10, pin.rules);
  for (std::size_t i = 0; i < kDecisionParts; ++i)
    good = good && number(words[2 + i], 16, pin.digests[i]);
  return good;
}

std::string joined(std::string_view name, const std::vector<std::string>& words) {
  std::string out(name);
  for (const std::string& word : words) out += " " + word;
  return out + "\n";
}

}  // namespace

const Pin* Pins::find(std::uint64_t seed) const {
  if (seeds.empty() || seed < seeds.front().seed || seed > seeds.back().seed) return nullptr;
  return &seeds[seed - seeds.front().seed];
}

Result<Pins> read_pins(std::string_view text, const std::string& file) {
  Pins pins;
  Errors errors;
  const auto bad = [&](int line, std::string subject, std::string message) {
    errors.push_back({ErrorCode::InvalidInput, file, line, std::move(subject), std::move(message)});
  };
  std::istringstream in{std::string(text)};
  int at = 0;
  for (std::string line; std::getline(in, line);) {
    ++at;
    std::vector<std::string> words = words_of(line);
    if (words.empty() || words[0].front() == '#' || words[0] == "seed") continue;
    if (words[0] == "policies" || words[0] == "placers") {
      std::vector<std::string>& names = words[0] == "policies" ? pins.policies : pins.placers;
      names.assign(words.begin() + 1, words.end());
      continue;
    }
    Pin pin;
    if (!read_pin(words, pin))
      bad(at,
          "pin",
          "found \"" + line + "\", needed are a seed, its rules and " +
              std::to_string(kDecisionParts) + " hexadecimal digests; write the file anew");
    else if (!pins.seeds.empty() && pin.seed != pins.seeds.back().seed + 1)
      bad(at,
          "seed " + words[0],
          "stands behind seed " + std::to_string(pins.seeds.back().seed) +
              ", seeds follow each other without gaps; write the file anew");
    else
      pins.seeds.push_back(pin);
  }
  if (errors.empty() && (pins.seeds.empty() || pins.policies.empty() || pins.placers.empty()))
    bad(0, "pins", "found no seed, no policy or no placer; name the file of pinned storms");
  if (!errors.empty()) return errors;
  return pins;
}

std::string text_of(const Pins& pins) {
  std::string out(kHead);
  out += joined("policies", pins.policies) + joined("placers", pins.placers) + "seed rules";
  for (const char* const name : EnumNames<DecisionPart>::kNames) out += " " + std::string(name);
  out += "\n";
  for (const Pin& pin : pins.seeds) {
    out += std::to_string(pin.seed) + " " + std::to_string(pin.rules);
    for (const std::uint32_t digest : pin.digests) {
      char hex[16];
      std::snprintf(hex, sizeof hex, " %08x", digest);
      out += hex;
    }
    out += "\n";
  }
  return out;
}

Result<scenarios::Scenario> plan_pinned(const Pins& pins,
                                        const Pin& pin,
                                        std::span<const scenarios::PolicyChoice> policies) {
  std::vector<scenarios::PolicyChoice> chosen;
  for (const std::string& name : pins.policies) {
    const auto known =
        std::find_if(policies.begin(), policies.end(), [&](const scenarios::PolicyChoice& choice) {
          return choice.name == name;
        });
    if (known == policies.end())
      return Error{.subject = "policies",
                   .message = "policy " + name +
                              " is pinned and is none of this program's; write the pins anew"};
    chosen.push_back(*known);
  }
  scenarios::Scenario scenario = plan_storm(pin.seed, chosen, pins.placers);
  scenario.settings.rules = pin.rules;
  return scenario;
}

std::string pin_difference(const Pin& pin, const DecisionDigests& digests) {
  std::string parts;
  for (std::size_t i = 0; i < kDecisionParts; ++i)
    if (pin.digests[i] != digests[i])
      parts += (parts.empty() ? "" : ", ") + std::string(EnumNames<DecisionPart>::kNames[i]);
  if (parts.empty()) return {};
  return "not as pinned: " + parts + "; see whether that is meant, then write the pins anew";
}

}  // namespace orrery::sim
