// The job that a client follows by its name, told from others that take the name once it is over.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/base/result.hpp"
#include "tools/client/client.hpp"

namespace orrery::cli {

class OwnJob {
 public:
  OwnJob() = default;

  /// Of a number that the controller has told; else that of the first document counts.
  explicit OwnJob(std::optional<std::int64_t> number) : number_(number) {}

  /// Whether a document, which the controller has of the name, is of this job.
  bool is(const nlohmann::json& document);

  /// The same without counting a first one.
  bool may_be(const nlohmann::json& document) const;

  std::int64_t number() const { return number_.value_or(0); }

  /// Asks for what is left of this job, by its number, after another one was found.
  Result<HttpReply> ask_past(Client& client) const;

  /// The document in the reply to that, without members: null where the job is not kept any more.
  nlohmann::json past(const HttpReply& reply) const;

 private:
  std::optional<std::int64_t> number_;
};

}  // namespace orrery::cli
