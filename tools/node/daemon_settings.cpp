#include "tools/node/daemon_settings.hpp"

#include <iterator>
#include <string>
#include <utility>

namespace orrery::cli {

Result<runtime::ConfigText> open_settings(const Arguments& arguments,
                                          std::vector<scenarios::Override> more) {
  Errors errors;
  std::vector<scenarios::Override> overrides;
  for (const std::string& set : arguments.values("--set")) {
    if (auto parsed = scenarios::parse_override(set)) {
      overrides.push_back(std::move(*parsed));
    } else {
      errors.insert(errors.end(), parsed.errors().begin(), parsed.errors().end());
    }
  }
  if (!errors.empty()) return errors;
  std::move(more.begin(), more.end(), std::back_inserter(overrides));
  return runtime::open_config(arguments.value("--config").value_or(""), std::move(overrides));
}

}  // namespace orrery::cli
