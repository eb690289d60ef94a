// For the target of HTTP: requests stay whole, and say how long their bodies are, but for a few.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"
#include "tests/system/fuzz/text_mutator.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using orrery::Random;

constexpr auto kMethods =
    std::to_array<std::string_view>({"GET", "GET", "POST", "POST", "DELETE", "PUT", "HEAD"});
constexpr auto kPaths = std::to_array<std::string_view>({
    "/api/v1/jobs",
    "/api/v1/jobs/a",
    "/api/v1/jobs/default.a",
    "/api/v1/jobs/b",
    "/api/v1/jobs/a/stop",
    "/api/v1/jobs/a/scale",
    "/api/v1/jobs/a/logs",
    "/api/v1/jobs/a/members",
    "/api/v1/jobs/a/profilings",
    "/api/v1/jobs/a/peers",
    "/api/v1/forecast",
    "/api/v1/forecast/accuracy",
    "/api/v1/events",
    "/api/v1/nodes",
    "/api/v1/nodes/n0",
    "/api/v1/nodes/n0/exclude",
    "/api/v1/nodes/n0/include",
    "/api/v1/queues",
    "/api/v1/cluster",
    "/api/v1/openapi.yaml",
    "/v2alpha1/default.a/replicas",
    "/v2alpha1/job/default.a/replicas",
    "/v2alpha1/default.a/profilings",
    "/metrics",
    "/healthz",
    "/readyz",
    "/",
});
constexpr auto kQueries = std::to_array<std::string_view>({
    "namespace=default",
    "group=g",
    "phase=Running",
    "label=a%3Db",
    "all",
    "limit=1",
    "after=1",
    "job=a",
    "backlog=1",
    "since=1.1",
    "follow",
    "role=actor",
    "rank=0",
    "tail_lines=1",
    "tail_bytes=1",
    "previous",
    "generation=1",
    "timeout_s=0",
    "caller=x",
    "state=Ready",
    "file=f.yaml",
    "set=a=1",
    "only=new",
    "dry_run",
    "apply",
    "request=k",
    "runs=2",
    "arrivals=recent",
    "seed=2",
});
constexpr auto kHeaders = std::to_array<std::string_view>({
    "Host: localhost",
    "Accept: text/event-stream",
    "Last-Event-ID: 1.2",
    "Idempotency-Key: k",
    "Authorization: Bearer t",
    "Origin: http://localhost",
    "Orrery-User: u",
    "X-Orrery-Worker: 1-1-0",
    "Expect: 100-continue",
    "Connection: close",
    "Transfer-Encoding: chunked",
    "Content-Type: application/json",
});
constexpr auto kBodies = std::to_array<std::string_view>({
    R"({"replicas": 2})",
    R"({"role": "actor", "replicas": 3})",
    R"({"data": {"loss": 0.5}})",
    R"({"data": {"batch_size": 32, "throughput": 10.5}})",
    "name: new\nroles: {a: {replicas: 1}}\n",
    "{}",
    "[]",
    "",
});

struct Request {
  std::string line;
  std::vector<std::string> headers;
  std::string body;
};

template <std::size_t kCount>
std::string some_of(const std::array<std::string_view, kCount>& all, Random& random) {
  return std::string(all[random.below(kCount)]);
}

bool tells_length(const std::string& header) { return header.starts_with("Content-Length:"); }

/// Reads requests as far as they look like some; what is left is the body of the last one.
std::vector<Request> requests_of(std::string_view text) {
  std::vector<Request> out;
  while (!text.empty()) {
    Request request;
    std::size_t length = 0;
    bool is_first = true;
    while (true) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) break;
      if (is_first) {
        request.line = std::move(line);
      } else if (tells_length(line)) {
        length = std::strtoul(line.c_str() + sizeof("Content-Length:") - 1, nullptr, 10);
      } else {
        request.headers.push_back(std::move(line));
      }
      is_first = false;
    }
    length = std::min(length, text.size());
    request.body = text.substr(0, length);
    text.remove_prefix(length);
    if (!request.line.empty()) out.push_back(std::move(request));
  }
  return out;
}

std::string text_of(const std::vector<Request>& requests, bool lengths_are_right, Random& random) {
  std::string out;
  for (const Request& request : requests) {
    out += request.line + "\r\n";
    for (const std::string& header : request.headers) out += header + "\r\n";
    std::size_t length = request.body.size();
    if (!lengths_are_right && random.chance(0.5)) length += 5 - random.below(10);
    if (length > 0) out += "Content-Length: " + std::to_string(length) + "\r\n";
    out += "\r\n" + request.body;
  }
  return out;
}

Request some_request(Random& random) {
  Request out;
  out.line = some_of(kMethods, random) + " " + some_of(kPaths, random);
  for (std::uint64_t left = random.below(4); left > 0; --left) {
    out.line += out.line.find('?') == std::string::npos ? '?' : '&';
    out.line += some_of(kQueries, random);
  }
  out.line += " HTTP/1.1";
  for (std::uint64_t left = random.below(3); left > 0; --left)
    out.headers.push_back(some_of(kHeaders, random));
  if (random.chance(0.5)) out.body = some_of(kBodies, random);
  return out;
}

/// The bytes of `text` changed as libFuzzer does, at most twice as many.
std::string of_other_bytes(const std::string& text) {
  std::vector<std::uint8_t> bytes(text.begin(), text.end());
  bytes.resize(text.size() * 2 + 16);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), text.size(), bytes.size()));
  return {bytes.begin(), bytes.end()};
}

void change(std::vector<Request>& requests, orrery::tests::TextMutator& mutator, Random& random) {
  if (requests.empty()) requests.push_back(some_request(random));
  const std::size_t which = random.below(requests.size());
  Request& request = requests[which];
  const std::uint64_t bytes_max = request.body.size() * 2 + 64;
  switch (random.below(9)) {
    case 0:
      requests.insert(requests.begin() + static_cast<std::ptrdiff_t>(which), some_request(random));
      break;
    case 1:
      if (requests.size() > 1)
        requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(which));
      break;
    case 2:
      request.line = some_request(random).line;
      break;
    case 3: {  // One more word of the query, or one with other bytes.
      const std::size_t end = std::min(request.line.rfind(' '), request.line.size());
      const bool has_query = request.line.find('?') != std::string::npos;
      std::string more = (has_query ? "&" : "?") + some_of(kQueries, random);
      if (random.chance(0.5)) more = of_other_bytes(more);
      request.line.insert(end, more);
      break;
    }
    case 4:
      request.line = of_other_bytes(request.line);
      break;
    case 5:
      request.headers.push_back(some_of(kHeaders, random));
      if (random.chance(0.5)) request.headers.back() = of_other_bytes(request.headers.back());
      break;
    case 6:
      request.body = some_of(kBodies, random);
      break;
    case 7:
      request.body = of_other_bytes(request.body);
      break;
    default:
      mutator.learn(request.body);
      request.body = mutator.mutated(request.body, bytes_max, random.bits());
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned int seed) {
  static orrery::tests::TextMutator mutator;
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  Random random(seed);
  std::vector<Request> requests = requests_of({reinterpret_cast<const char*>(data), size});
  for (std::uint64_t left = 1 + random.below(4); left > 0; --left)
    change(requests, mutator, random);
  std::string out = text_of(requests, random.chance(0.95), random);
  out.resize(std::min(out.size(), max_size));
  std::copy(out.begin(), out.end(), data);
  return out.size();
}
