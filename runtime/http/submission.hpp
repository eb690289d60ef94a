// POST /api/v1/jobs: from a text to jobs that are durable.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "runtime/http/api.hpp"
#include "runtime/http/text_reader.hpp"

namespace orrery::http {

/// Reads the body, asks for its jobs one after the other, and answers once all are durable, or one
/// is refused: then those before it are in, and the answer says so. The same Idempotency-Key, or
/// the same `request`, gets the same answer again.
void submit(const CallPtr& call,
            const ControlClient& client,
            const std::shared_ptr<TextReader>& reader);

/// Reads a job file that came with a call, with the cluster's nodes where it speaks of them, and
/// passes on its jobs, one at least, on the I/O thread. Where that fails the call is answered.
void read_jobs(const CallPtr& call,
               const ControlClient& client,
               const std::shared_ptr<TextReader>& reader,
               const JobText& text,
               std::function<void(ReadJobs)> then);

/// The number under which a client's key is known in the journal: never 0. `index`: of the job in
/// its file.
std::uint64_t request_number(std::string_view key, std::size_t index);

}  // namespace orrery::http
