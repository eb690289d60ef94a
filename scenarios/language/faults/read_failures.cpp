// Months of failures, recorded or drawn from published rates, and the extension for node relaunch.
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

/// "2003-01-31".
bool parse_date(std::string_view text, LanlReplay& to) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = parse_integer(text.substr(0, 4));
  const auto month = parse_integer(text.substr(5, 2));
  const auto day = parse_integer(text.substr(8, 2));
  if (!year || !month || !day || *year < 1990 || *year > 2010 || *month < 1 || *month > 12 ||
      *day < 1 || *day > 31)
    return false;
  to.from_year = static_cast<std::int32_t>(*year);
  to.from_month = static_cast<std::int32_t>(*month);
  to.from_day = static_cast<std::int32_t>(*day);
  return true;
}

void read_lanl(const MapReader& failures, const std::string& directory, Failures& to) {
  const YamlNode* node = failures.find("lanl");
  if (node == nullptr) return;
  const MapReader reader(failures.reading(), *node, section("failures.lanl"), "failures.lanl");
  LanlReplay& replay = to.lanl.emplace();
  replay.place = failures.reading().place(node->origin_of("file"));
  read_path(reader, "file", "file: LA-UR-05-7318.csv", directory, replay.file);
  reader.read_integer("system", replay.system, 2, 24);
  reader.read_integer("days", replay.days, 1, 4000);
  reader.read_bool("scale_nodes", replay.scale_nodes);
  const YamlNode* from = reader.find("from");
  if (from != nullptr && (!from->is_scalar() || !parse_date(from->scalar, replay)))
    reader.fail("from", found_instead(*from, "a day", "write for example 2003-01-31"));
}

void read_rates(const MapReader& failures, Failures& to) {
  const YamlNode* node = failures.find("rates");
  if (node == nullptr) return;
  const MapReader reader(failures.reading(), *node, section("failures.rates"), "failures.rates");
  bool llama3 = false;
  reader.read_bool("llama3", llama3);
  if (!llama3)
    failures.fail("rates", "names no table of rates, one is needed; write {llama3: true}");
  ComponentRates& rates = to.llama3.emplace();
  reader.read_integer("nodes", rates.nodes, 1, 1'048'576);
  reader.read_duration("lasting", rates.lasting);
}

void read_relaunch(const MapReader& top, Relaunch& relaunch) {
  const YamlNode* node = top.find("relaunch");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, section("relaunch"), "relaunch");
  relaunch.answer = RelaunchAnswer::Replaced;
  relaunch.after = Duration::seconds(60);
  reader.read_enum("answer", relaunch.answer);
  reader.read_duration("after", relaunch.after);
  reader.read_integer("count", relaunch.count, 1, 1'048'576);
  if (reader.has("count") && relaunch.answer != RelaunchAnswer::Partial)
    reader.fail("count", "has a meaning for answer partial only; remove it");
  if (reader.has("after") && relaunch.answer == RelaunchAnswer::TimesOut)
    reader.fail("after", "stands with answer times_out, which never comes; remove it");
}

}  // namespace

void read_failures(const MapReader& top, const std::string& directory, Scenario& scenario) {
  read_relaunch(top, scenario.relaunch);
  const YamlNode* node = top.find("failures");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, section("failures"), "failures");
  read_lanl(reader, directory, scenario.failures);
  read_rates(reader, scenario.failures);
  if (node->is_map() && !scenario.failures.any())
    top.fail("failures",
             "has neither lanl nor rates, one is needed; add for example rates: "
             "{llama3: true}");
}

}  // namespace orrery::scenarios
