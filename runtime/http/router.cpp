#include "runtime/http/router.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"

namespace orrery::http {
namespace {

bool is_value(const std::string& part) { return part.starts_with('{'); }

bool fits(const std::vector<std::string>& wanted, const std::vector<std::string>& found) {
  return std::equal(wanted.begin(),
                    wanted.end(),
                    found.begin(),
                    found.end(),
                    [](const std::string& want, const std::string& have) {
                      return is_value(want) ? !have.empty() : want == have;
                    });
}

}  // namespace

const std::string& Call::value(std::string_view name) const {
  const auto found = std::find_if(
      values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
  invariant(found != values.end(), "the route has no such value");
  return found->second;
}

void Router::add(std::string method,
                 std::string path,
                 Role role,
                 std::function<void(CallPtr)> handle) {
  Result<Target> target = read_target(path);
  invariant(target.has_value(), "a route's path is sound");
  parts_.push_back(std::move(target->parts));
  routes_.push_back({std::move(method), std::move(path), role, false, std::move(handle)});
}

void Router::add_for_workers(std::string method,
                             std::string path,
                             Role role,
                             std::function<void(CallPtr)> handle) {
  add(std::move(method), std::move(path), role, std::move(handle));
  routes_.back().for_workers = true;
}

Router::Match Router::find(std::string_view method, const std::vector<std::string>& parts) const {
  Match out;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (!fits(parts_[i], parts)) continue;
    out.allowed.push_back(routes_[i].method);
    if (routes_[i].method != wanted || out.route != nullptr) continue;
    out.route = &routes_[i];
    for (std::size_t p = 0; p < parts.size(); ++p)
      if (is_value(parts_[i][p]))
        out.values.emplace_back(parts_[i][p].substr(1, parts_[i][p].size() - 2), parts[p]);
  }
  return out;
}

}  // namespace orrery::http
