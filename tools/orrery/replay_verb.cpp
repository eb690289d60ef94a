// replay: runs a recorded journal through the core again, and compares what was ordered.
#include <fstream>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/driver/term_orders.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;

/// What a controller says when it ends, behind which TermOrders::text stands.
constexpr std::string_view kLed = "led ";

/// What the log of a controller tells of its terms. Errors: it cannot be read, or tells of none.
Result<std::vector<std::string>> terms_told(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Error{.file = path,
                 .subject = "--log",
                 .message = "cannot be read, the log of a controller is needed; correct the path"};
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("led epoch ")) out.push_back(line.substr(kLed.size()));
  if (out.empty())
    return Error{.file = path,
                 .subject = "--log",
                 .message =
                     "has no line \"led epoch\", the log of a controller that led and was "
                     "ended in order is needed; name that one"};
  return out;
}

/// Those of `told` that no term of the replay is.
std::vector<std::string> ordered_otherwise(const std::vector<std::string>& told,
                                           const std::vector<TermOrders>& terms) {
  std::vector<std::string> out;
  for (const std::string& line : told) {
    bool same = false;
    for (const TermOrders& term : terms) same = same || term.text() == line;
    if (!same) out.push_back(line);
  }
  return out;
}

std::string json_of(const std::vector<TermOrders>& terms,
                    std::size_t told,
                    const std::vector<std::string>& otherwise) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("terms").begin_array();
  for (const TermOrders& term : terms) {
    json.begin_object().field("epoch", std::uint64_t{term.epoch().value});
    json.field("first", term.first().value).field("last", term.last().value);
    json.field("orders", term.count()).field("digest", term.digest().to_hex()).end_object();
  }
  json.end_array().field("told", std::uint64_t{told}).key("different").begin_array();
  for (const std::string& line : otherwise) json.value(line);
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace

ExitCode run_replay(const Arguments& arguments, Console& console) {
  const bool what_if =
      arguments.has("--policy") || arguments.has("--set") || arguments.has("--out");
  if (what_if && arguments.has("--log")) {
    console.err(
        "orrery replay: --log: found beside --policy, --set or --out, which run the journal "
        "under other decisions; remove one of them\n");
    return ExitCode::BadInput;
  }
  if (what_if) return run_what_if(arguments, console);
  const auto fail = [&console](const Errors& errors) {
    console.errors(errors);
    return ExitCode::BadInput;
  };
  const std::string& path = arguments.operands().front();
  const auto store = SqliteStore::open(path, SqliteStore::Access::ReadOnly);
  if (!store) return fail(store.errors());
  const auto log = arguments.value("--log");
  const auto told =
      log ? terms_told(*log) : Result<std::vector<std::string>>(std::vector<std::string>());
  if (!told) return fail(told.errors());
  const auto terms = orders_of_terms(**store);
  if (!terms) return fail(terms.errors());
  const std::vector<std::string> otherwise = ordered_otherwise(*told, *terms);
  const ExitCode code = otherwise.empty() ? ExitCode::Met : ExitCode::InvariantBroken;
  if (arguments.has("--json")) {
    console.out(json_of(*terms, told->size(), otherwise));
    return code;
  }
  for (const TermOrders& term : *terms) console.out(term.text() + "\n");
  if (!log) return code;
  console.out(std::to_string(told->size() - otherwise.size()) + " of " +
              std::to_string(told->size()) + " terms that " + *log +
              " tells of ordered the same\n");
  for (const std::string& line : otherwise) console.out("otherwise: " + line + "\n");
  return code;
}

}  // namespace orrery::cli
