// What the controller's documents look like to a person.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/console/console.hpp"
#include "tools/console/job_names.hpp"

namespace orrery::cli {

/// Nanoseconds since the Unix epoch, of this machine's clock.
std::int64_t now_ns();

/// "3 min 20 s" between two instants in nanoseconds; "-" where the first is none.
std::string span_in_words(std::int64_t from_ns, std::int64_t to_ns);

/// "2026-11-22 00:14:20" in UTC; "-" where there is none.
std::string time_in_utc(std::int64_t ns);

/// When a job that waits is expected to start: "in 3 min 20 s", "now"; empty where no forecast
/// foresees it.
std::string expected_text(std::int64_t start_ns, std::int64_t now_ns);

/// "4/8": ready workers of the job, and those that it has been granted or shall have at least,
/// whichever is more: a policy may have given an elastic job more than its least.
std::string ready_text(const nlohmann::json& job);

/// A row per job of an array of statuses. Names of the default namespace are shown without it.
/// `numbered`: with the numbers that tell jobs of one name apart.
std::string jobs_table(const nlohmann::json& jobs,
                       const ConsoleTraits& console,
                       bool numbered = false);

/// A row per node.
std::string nodes_table(const nlohmann::json& nodes, const ConsoleTraits& console);

/// The table of `orrery get queues`, parents before what is below them.
std::string queues_table(const nlohmann::json& queues, const ConsoleTraits& console);

/// A row per worker.
std::string members_table(const nlohmann::json& members, const ConsoleTraits& console);

/// One line per event, without its end: time, job or node, name, message.
std::string event_line(const nlohmann::json& event, bool colour);

/// The latest failure of a job with the last lines that its worker wrote, indented; empty where
/// none is known.
std::string failure_text(const nlohmann::json& job);

/// Everything about one job, in sections.
std::string job_page(const nlohmann::json& job, const ConsoleTraits& console);

/// Everything about one node.
std::string node_page(const nlohmann::json& node, const ConsoleTraits& console);

}  // namespace orrery::cli
