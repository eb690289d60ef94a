// POST /api/v1/jobs: from a text to jobs that are durable.
#pragma once

#include <memory>

#include "runtime/http/api.hpp"
#include "runtime/http/text_reader.hpp"

namespace orrery::http {

/// Reads the body, asks for its jobs one after the other, and answers once all are durable, or one
/// is refused: then those before it are in, and the answer says so. The same Idempotency-Key, or
/// the same `request`, gets the same answer again.
void submit(const CallPtr& call,
            const ControlClient& client,
            const std::shared_ptr<TextReader>& reader);

/// The number under which a client's key is known in the journal: never 0. `index`: of the job in
/// its file.
std::uint64_t request_number(std::string_view key, std::size_t index);

}  // namespace orrery::http
