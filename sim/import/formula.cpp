#include "sim/import/formula.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/math.hpp"
#include "sim/import/json_tree.hpp"

namespace orrery::sim {
namespace {

constexpr double kPi = 3.141592653589793;

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

double truth(bool is) { return is ? 1 : 0; }

/// The function's value; nothing where there is none of the name or not of so many arguments.
std::optional<double> call(std::string_view name, const std::vector<double>& x) {
  const auto of = [&](std::string_view wanted, std::size_t arguments) {
    return name == wanted && x.size() == arguments;
  };
  if (x.empty()) return std::nullopt;
  if (name == "min") return *std::min_element(x.begin(), x.end());
  if (name == "max") return *std::max_element(x.begin(), x.end());
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  if (name == "sum") return sum;
  if (name == "avg") return sum / static_cast<double>(x.size());
  if (of("abs", 1)) return std::abs(x[0]);
  if (of("ceil", 1)) return std::ceil(x[0]);
  if (of("floor", 1)) return std::floor(x[0]);
  if (of("round", 1)) return std::round(x[0]);
  if (of("trunc", 1)) return std::trunc(x[0]);
  if (of("sqrt", 1)) return math::sqrt(x[0]);
  if (of("exp", 1)) return math::exp(x[0]);
  if (of("log", 1)) return math::log(x[0]);
  if (of("log2", 1)) return math::log(x[0]) / math::log(2);
  if (of("log10", 1)) return math::log(x[0]) / math::log(10);
  if (of("sgn", 1)) return truth(x[0] > 0) - truth(x[0] < 0);
  if (of("pow", 2)) return math::pow(x[0], x[1]);
  if (of("mod", 2)) return std::fmod(x[0], x[1]);
  if (of("clamp", 3)) return std::max(x[0], std::min(x[1], x[2]));
  if (of("if", 3)) return x[0] != 0 ? x[1] : x[2];
  return std::nullopt;
}

/// Reads and works out a formula from the left. After the first error every part is 0.
class Evaluation {
 public:
  Evaluation(std::string_view text, const FormulaValues& values) : text_(text), values_(values) {}

  Result<double> run() {
    const double value = choice();
    skip_blanks();
    if (at_ < text_.size()) fail("an operator or the end");
    if (wrong_.empty() && !std::isfinite(value))
      wrong_ = "has no finite value; does it divide by 0?";
    if (!wrong_.empty())
      return Error{.subject = "formula '" + excerpt(text_) + "'", .message = wrong_};
    return value;
  }

 private:
  /// Counts the nesting for as long as it lives.
  struct Deeper {
    explicit Deeper(Evaluation& e) : evaluation(e) {
      if (++e.depth_ > kFormulaDepthMax && e.wrong_.empty())
        e.wrong_ =
            "is nested deeper than " + std::to_string(kFormulaDepthMax) + " levels; take it apart";
    }

    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

    ~Deeper() { --evaluation.depth_; }

    Evaluation& evaluation;
  };

  void fail(const std::string& needed) {
    if (!wrong_.empty()) return;
    const std::string found =
        at_ < text_.size() ? "'" + excerpt(text_.substr(at_, 12)) + "'" : "the end";
    wrong_ = "has " + found + " at byte " + std::to_string(at_) + ", where " + needed +
             " is needed; correct it";
  }

  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  /// Takes the sign where it comes next.
  bool take(std::string_view sign) {
    skip_blanks();
    if (!wrong_.empty() || text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }

  /// The same for a word that is no longer name's beginning.
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!wrong_.empty() || text_.substr(at_, word.size()) != word) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end]))) return false;
    at_ = end;
    return true;
  }

  double choice() {
    const Deeper deeper(*this);
    const double condition = either();
    if (!take("?")) return condition;
    const double then = choice();
    if (!take(":")) fail("':'");
    const double otherwise = choice();
    return condition != 0 ? then : otherwise;
  }

  double either() {
    double value = both();
    while (take("||") || take("|") || take_word("or")) {
      const double next = both();
      value = truth(value != 0 || next != 0);
    }
    return value;
  }

  double both() {
    double value = comparison();
    while (take("&&") || take("&") || take_word("and")) {
      const double next = comparison();
      value = truth(value != 0 && next != 0);
    }
    return value;
  }

  double comparison() {
    double value = sum();
    while (true) {
      if (take("<=")) {
        value = truth(value <= sum());
      } else if (take(">=")) {
        value = truth(value >= sum());
      } else if (take("!=") || take("<>")) {
        value = truth(value != sum());
      } else if (take("<")) {
        value = truth(value < sum());
      } else if (take(">")) {
        value = truth(value > sum());
      } else if (take("==") || take("=")) {
        value = truth(value == sum());
      } else {
        return value;
      }
    }
  }

  double sum() {
    double value = product();
    while (true) {
      if (take("+")) {
        value += product();
      } else if (take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = signed_value();
    while (true) {
      if (take("*")) {
        value *= signed_value();
      } else if (take("/")) {
        value /= signed_value();
      } else if (take("%")) {
        value = std::fmod(value, signed_value());
      } else {
        return value;
      }
    }
  }

  double signed_value() {
    const Deeper deeper(*this);
    if (take("-")) return -signed_value();
    if (take("+")) return signed_value();
    skip_blanks();
    const bool compares = text_.substr(at_, 2) == "!=";
    if ((!compares && take("!")) || take_word("not")) return truth(signed_value() == 0);
    return power();
  }

  double power() {
    const double base = primary();
    if (!take("^")) return base;
    return math::pow(base, signed_value());
  }

  double primary() {
    skip_blanks();
    if (!wrong_.empty()) return 0;
    if (take("(")) {
      const double value = choice();
      if (!take(")")) fail("')'");
      return value;
    }
    if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) return number();
    if (at_ < text_.size() && begins_name(text_[at_])) return named();
    fail("a number, a name or '('");
    return 0;
  }

  double number() {
    double value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) {
      fail("a number");
      return 0;
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  double named() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (begins_name(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.'))
      ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (take("(")) return called(name);
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    if (name == "pi") return kPi;
    if (wrong_.empty())
      wrong_ = "names '" + excerpt(name) + "', needed one of " + names() + "; correct it";
    return 0;
  }

  double called(std::string_view name) {
    std::vector<double> arguments;
    do {
      arguments.push_back(choice());
    } while (take(","));
    if (!take(")")) fail("')'");
    if (!wrong_.empty()) return 0;
    const std::optional<double> value = call(name, arguments);
    if (!value)
      wrong_ = "calls '" + excerpt(name) + "' with " + std::to_string(arguments.size()) +
               " arguments, and there is no such function; correct it";
    return value.value_or(0);
  }

  std::string names() const {
    std::string all;
    for (const auto& [name, value] : values_) all += (all.empty() ? "" : ", ") + name;
    return all.empty() ? "the arguments (there are none)" : all;
  }

  std::string_view text_;
  const FormulaValues& values_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string wrong_;
};

}  // namespace

Result<double> evaluate_formula(std::string_view text, const FormulaValues& values) {
  if (text.size() > kFormulaLengthMax)
    return Error{
        .subject = "formula '" + excerpt(text) + "'",
        .message = "is longer than " + std::to_string(kFormulaLengthMax) + " bytes; shorten it"};
  return Evaluation(text, values).run();
}

}  // namespace orrery::sim
