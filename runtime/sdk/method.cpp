#include "runtime/sdk/method.hpp"

#include <algorithm>

namespace orrery::sdk::detail {
namespace {

std::string parameter_name(const MethodEntry& entry, std::size_t index) {
  const std::vector<std::string>& names = entry.options.parameters;
  return index < names.size() ? names[index] : "argument " + std::to_string(index);
}

std::string parameter_list(const MethodEntry& entry) {
  std::string out;
  for (std::size_t i = 0; i < entry.arity; ++i)
    out.append(out.empty() ? "" : ", ").append(parameter_name(entry, i));
  return out.empty() ? "none" : out;
}

}  // namespace

std::vector<Value> bind_arguments(const MethodEntry& entry, Value args, Value kwargs) {
  std::vector<Value> out;
  if (entry.takes_all) {
    out.push_back(std::move(args));
    out.push_back(std::move(kwargs));
    return out;
  }
  std::string wrong;
  const auto note = [&](const std::string& finding) {
    wrong.append(wrong.empty() ? "" : "; ").append(finding);
  };
  if (args.size() > entry.arity)
    note("found " + std::to_string(args.size()) + " positional arguments, needed at most " +
         std::to_string(entry.arity));
  std::vector<bool> given(entry.arity);
  out.resize(entry.arity);
  for (std::size_t i = 0; i < std::min(args.size(), entry.arity); ++i) {
    out[i] = std::move(args[i]);
    given[i] = true;
  }
  const std::vector<std::string>& names = entry.options.parameters;
  for (auto& [name, value] : kwargs.items()) {
    const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    if (at >= names.size() || at >= entry.arity) {
      note("found the argument " + name.substr(0, 100) + ", needed one of " +
           parameter_list(entry));
    } else if (given[at]) {
      note("found the argument " + name + " twice, by its place and by its name");
    } else {
      out[at] = std::move(value);
      given[at] = true;
    }
  }
  for (std::size_t i = 0; i < entry.arity; ++i)
    if (!given[i] && !entry.may_be_absent[i]) note("found no " + parameter_name(entry, i));
  if (!wrong.empty())
    throw BadArguments("method " + entry.name + ": " + wrong + "; its parameters are " +
                       parameter_list(entry));
  return out;
}

void raise_unfit_argument(const MethodEntry& entry, std::size_t index, const std::string& why) {
  throw BadArguments("method " + entry.name + ": " + parameter_name(entry, index) + ": " + why +
                     "; give it a value of the parameter's type");
}

}  // namespace orrery::sdk::detail
