// Which handler a request goes to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/http/access.hpp"
#include "runtime/http/exchange.hpp"
#include "runtime/http/target.hpp"

namespace orrery::http {

/// One request on its way through a handler.
struct Call {
  Request request;
  Identity identity;
  Query query;
  std::vector<std::pair<std::string, std::string>> values;  ///< Of the path: {"job", "default.a"}.
  std::shared_ptr<Exchange> exchange;
  bool envelope = false;  ///< Answers come in DI-orchestrator's envelope.

  /// A value of the path; the route has it.
  const std::string& value(std::string_view name) const;
};

using CallPtr = std::shared_ptr<Call>;

struct Route {
  std::string method;
  std::string path;  ///< "/api/v1/jobs/{job}/scale".
  Role role;         ///< The role needed; None: open to all.
  bool for_workers;  ///< Whether the workers of the job in the path may too.
  std::function<void(CallPtr)> handle;
};

/// Finds routes by method and path, parts of paths by equality.
class Router {
 public:
  void add(std::string method, std::string path, Role role, std::function<void(CallPtr)> handle);

  /// The same for the workers of the job that the path names as {job} or {id}, too.
  void add_for_workers(std::string method,
                       std::string path,
                       Role role,
                       std::function<void(CallPtr)> handle);

  struct Match {
    const Route* route = nullptr;  ///< Null: none, `allowed` says why.
    std::vector<std::pair<std::string, std::string>> values;
    std::vector<std::string> allowed;  ///< Methods of the path; empty: there is no such path.
  };

  /// HEAD is served as GET, whose body the server leaves out.
  Match find(std::string_view method, const std::vector<std::string>& parts) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> parts_;  ///< Of each route's path.
};

}  // namespace orrery::http
