#include "tools/client/own_job.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "tools/client/json_reading.hpp"

namespace orrery::cli {

using nlohmann::json;

bool OwnJob::is(const json& document) {
  if (!number_ && document.is_object()) number_ = number_of(document, "id");
  return may_be(document);
}

bool OwnJob::may_be(const json& document) const {
  return !number_ || number_of(document, "id") == *number_;
}

Result<HttpReply> OwnJob::ask_past(Client& client) const {
  const std::string after = number() > 0 ? "&after=" + std::to_string(number() - 1) : "";
  return client.send({.target = "/api/v1/jobs?all=1&limit=1" + after});
}

json OwnJob::past(const HttpReply& reply) const {
  const json answer = json::parse(reply.body, nullptr, false);
  const json& found = list_of(answer, "jobs");
  return !found.empty() && number_of(found.front(), "id") == number() ? found.front() : json();
}

}  // namespace orrery::cli
