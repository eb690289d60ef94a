// Reads settings as a daemon does: print_settings controller|agent FILE [--set path=value ...].
// Prints what is wrong with them, and ends with 2.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/read/config_reader.hpp"

namespace {

using orrery::Errors;
using orrery::Result;

Errors check(const std::string& verb,
             const std::string& file,
             std::vector<orrery::scenarios::Override> overrides) {
  const auto text = orrery::runtime::open_config(file, std::move(overrides));
  if (!text) return text.errors();
  if (verb == "agent") {
    const auto config = orrery::runtime::read_agent_config(*text);
    return config ? Errors{} : config.errors();
  }
  const auto config = orrery::runtime::read_controller_config(*text, {});
  return config ? Errors{} : config.errors();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return 2;
  std::vector<orrery::scenarios::Override> overrides;
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    auto override = orrery::scenarios::parse_override(words[i + 1]);
    if (!override || words[i] != "--set") return 2;
    overrides.push_back(*override);
  }
  const Errors errors = check(words[0], words[1], std::move(overrides));
  for (const auto& error : errors) std::fprintf(stderr, "%s\n", error.text().c_str());
  return errors.empty() ? 0 : 2;
}
