// A front end over a fake controller, on a port of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "runtime/http/frontend.hpp"
#include "tests/runtime/http/fake_control.hpp"
#include "tests/runtime/http/fake_forecasts.hpp"
#include "tests/runtime/http/http_client.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::tests {

/// Reads "NAME [REPLICAS [REPLICAS_MAX]]" a line as a job; "bad" is refused, "image" brings a
/// warning, "on-nodes" is read with the nodes of the cluster.
inline Result<http::ReadJobs> read_job_lines(const http::JobText& text) {
  http::ReadJobs out;
  std::string_view rest = text.text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (one == "bad")
      return Error{ErrorCode::InvalidInput, text.file, line, "job", "found bad, a job is needed"};
    if (one == "on-nodes") {
      out.needs_nodes = !text.nodes;
      std::int32_t nodes = 0;
      for (const NodeGroup& group : text.nodes.value_or(std::vector<NodeGroup>{}))
        nodes += group.count;
      out.warnings.push_back(std::to_string(nodes) + " nodes are known");
      out.jobs.push_back(JobBuilder("on-nodes").spec());
    } else if (one == "image") {
      out.warnings.push_back("image: is not run here");
    } else if (!one.empty()) {
      const std::size_t space = one.find(' ');
      JobBuilder job{std::string(one.substr(0, space))};
      if (space != std::string_view::npos) {
        const std::string numbers(one.substr(space + 1));
        std::size_t low_size = 0;
        const int low = std::stoi(numbers, &low_size);
        job.replicas(low, low_size < numbers.size() ? std::stoi(numbers.substr(low_size)) : low);
      }
      out.jobs.push_back(job.spec());
    }
  }
  return out;
}

class HttpTest : public ::testing::Test {
 protected:
  FakeControl control;
  FakeForecasts forecasts;
  http::FrontendOptions options;
  std::unique_ptr<http::Frontend> front;

  /// With `options` as they are then.
  void serve(http::ReadJobText read = read_job_lines) {
    if (options.address == http::FrontendOptions().address) options.address = "127.0.0.1:0";
    options.read_jobs = std::move(read);
    options.forecasts = &forecasts;
    Result<std::unique_ptr<http::Frontend>> served = http::serve_http(control, options);
    ASSERT_TRUE(served.has_value()) << served.errors().front().text();
    front = std::move(*served);
  }

  const std::string& address() const { return front->address(); }

  Answer get(std::string_view target) { return request(address(), "GET", target); }

  Answer post(std::string_view target, std::string_view body = {}, std::string_view headers = {}) {
    return request(address(), "POST", target, body, headers);
  }

  /// The message of an error answer.
  static std::string message(const Answer& answer) {
    const auto json = answer.json();
    if (!json.is_object() || !json.contains("error")) return "no error in " + answer.body;
    return json["error"]["message"].get<std::string>();
  }
};

}  // namespace orrery::tests
