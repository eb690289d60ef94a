#include "policies/parameters.hpp"

#include <optional>
#include <utility>

#include "core/base/number_text.hpp"

namespace orrery::policies {

std::optional<Duration> duration_of(std::string_view text) {
  constexpr double kSecondsMost = 9e9;  // 285 years.
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"s", 1}, {"h", 3600}, {"d", 86400}};
  double seconds = 1;
  for (const auto& [unit, scale] : kUnits) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    seconds = scale;
    break;
  }
  const auto number = parsed_number<double>(text);
  // No number, or one of which nanoseconds cannot be counted.
  if (!number || !(*number * seconds > -kSecondsMost)) return std::nullopt;
  return Duration::from_seconds(*number * seconds);
}

/// Reads one parameter's text by its type.
class ParameterReader {
 public:
  using Value = ParameterValues::Value;

  static std::optional<Value> read(ParameterType type, std::string_view text) {
    Value value;
    switch (type) {
      case ParameterType::Integer:
        return whole(parsed_number<std::int64_t>(text));
      case ParameterType::Duration:
        if (const auto read = duration_of(text)) return whole(read->ns);
        return std::nullopt;
      case ParameterType::Flag:
        if (text != "true" && text != "false") return std::nullopt;
        value.whole = text == "true" ? 1 : 0;
        return value;
      case ParameterType::Number: {
        const auto number = parsed_number<double>(text);
        if (!number) return std::nullopt;
        value.number = *number;
        return value;
      }
      case ParameterType::List:
        return list(text);
      case ParameterType::Text:
        value.text = text;
        return value;
    }
    return std::nullopt;
  }

  /// Whether a value of the type lies between the row's bounds.
  static bool in_range(const ParameterRow& row, const Value& value) {
    const auto below = [&](const Value& a, const Value& b) {
      return a.whole < b.whole || a.number < b.number;
    };
    if (row.type == ParameterType::List) {
      for (const double element : value.list)
        if (!in_range({row.name, ParameterType::Number, {}, {}, row.least, row.most, {}},
                      {0, element, {}, {}}))
          return false;
      return true;
    }
    if (!row.least.empty() && below(value, bound(row, row.least))) return false;
    return row.most.empty() || !below(bound(row, row.most), value);
  }

  static void store(ParameterValues& values, std::string_view name, Value value) {
    values.values_.insert_or_assign(std::string(name), std::move(value));
  }

 private:
  static std::optional<Value> whole(std::optional<std::int64_t> read) {
    if (!read) return std::nullopt;
    return Value{*read, 0, {}, {}};
  }

  static std::optional<Value> list(std::string_view text) {
    Value value;
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      const auto number = parsed_number<double>(text.substr(0, comma));
      if (!number) return std::nullopt;
      value.list.push_back(*number);
      text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    return value;
  }

  static Value bound(const ParameterRow& row, std::string_view text) {
    const auto value = read(row.type, text);
    invariant(value.has_value(), "the bounds of a parameter are of its type");
    return *value;
  }
};

namespace {

Error refused(const ParameterRow& row, const std::string& text) {
  std::string needed = "a " + std::string(to_string(row.type));
  if (row.type == ParameterType::Integer) needed = "an integer";
  if (!row.least.empty()) needed += ", at least " + std::string(row.least);
  if (!row.most.empty())
    needed += (row.least.empty() ? ", at most " : " and at most ") + std::string(row.most);
  return {
      ErrorCode::InvalidInput,
      {},
      0,
      "policy." + std::string(row.name),
      "is \"" + text + "\", " + needed + " is needed; the default is " + std::string(row.initial)};
}

Error unknown(const PolicyRow& row, const std::string& name) {
  std::string known;
  for (const ParameterRow& p : row.parameters)
    known += (known.empty() ? "" : ", ") + std::string(p.name);
  return {ErrorCode::InvalidInput,
          {},
          0,
          "policy." + name,
          "is no parameter of " + std::string(row.name) + ", which takes " +
              (known.empty() ? "none" : known) + "; remove or rename it"};
}

}  // namespace

Result<ParameterValues> read_parameters(const PolicyRow& row,
                                        const std::map<std::string, std::string>& written) {
  ParameterValues values;
  Errors errors;
  for (const ParameterRow& p : row.parameters) {
    const auto initial = ParameterReader::read(p.type, p.initial);
    invariant(initial.has_value(), "the default of a parameter is of its type");
    ParameterReader::store(values, p.name, *initial);
  }
  for (const auto& [name, text] : written) {
    const ParameterRow* p = nullptr;
    for (const ParameterRow& candidate : row.parameters)
      if (candidate.name == name) p = &candidate;
    if (p == nullptr) {
      errors.push_back(unknown(row, name));
      continue;
    }
    const auto value = ParameterReader::read(p->type, text);
    if (!value || !ParameterReader::in_range(*p, *value)) {
      errors.push_back(refused(*p, text));
      continue;
    }
    ParameterReader::store(values, name, *value);
  }
  if (!errors.empty()) return errors;
  return values;
}

const ParameterValues::Value& ParameterValues::at(std::string_view name) const {
  const auto found = values_.find(name);
  invariant(found != values_.end(), "a policy asks only for parameters of its row");
  return found->second;
}

std::int64_t ParameterValues::integer(std::string_view name) const { return at(name).whole; }

double ParameterValues::number(std::string_view name) const { return at(name).number; }

Duration ParameterValues::duration(std::string_view name) const { return {at(name).whole}; }

bool ParameterValues::flag(std::string_view name) const { return at(name).whole != 0; }

const std::vector<double>& ParameterValues::list(std::string_view name) const {
  return at(name).list;
}

const std::string& ParameterValues::text(std::string_view name) const { return at(name).text; }

}  // namespace orrery::policies
