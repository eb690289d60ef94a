// Functions as methods: their parameters are read from a call's arguments, their result is sent.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/sdk/context.hpp"
#include "runtime/sdk/errors.hpp"
#include "runtime/sdk/value.hpp"

namespace orrery::sdk {

/// How a method may be called.
struct MethodOptions {
  std::vector<std::string> parameters;  ///< Their names, for arguments given by name. Calls of a
                                        ///< group with data of its own need them.
  bool concurrent = false;  ///< Runs beside others, on a thread of a pool, instead of in its turn.
  bool idempotent = false;  ///< May run again where an answer was lost.
};

/// A parameter that takes all arguments as they came, in the place of typed ones.
struct Arguments {
  Value positional = Value::array();
  Value named = Value::object();
};

namespace detail {

/// A method without its types.
struct MethodEntry {
  std::string name;
  MethodOptions options;
  std::size_t arity = 0;
  std::vector<bool> may_be_absent;  ///< Optional parameters, by index.
  bool takes_all = false;           ///< `values` holds the positional and the named arguments.
  bool streams = false;
  std::function<Value(Context&, std::vector<Value> values)> run;
};

/// The values for the parameters, by index. Throws BadArguments: everything that does not fit.
std::vector<Value> bind_arguments(const MethodEntry& entry, Value args, Value kwargs);

/// BadArguments about parameter `index`.
[[noreturn]] void raise_unfit_argument(const MethodEntry& entry,
                                       std::size_t index,
                                       const std::string& why);

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};

template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  using Parameters = std::tuple<A...>;
};

template <class R, class... A>
struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};

template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};

template <class C, class R, class... A>
struct Signature<R (C::*)(A...) noexcept> : Signature<R (*)(A...)> {};

template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};

template <class T>
struct IsItems : std::false_type {};

template <class T>
struct IsItems<Items<T>> : std::true_type {};

/// Which of the leading parameters are Context and Items.
template <class Parameters, std::size_t kIndex>
constexpr bool has_context_at() {
  if constexpr (kIndex < std::tuple_size_v<Parameters>)
    return std::is_same_v<std::remove_cvref_t<std::tuple_element_t<kIndex, Parameters>>, Context>;
  else
    return false;
}

template <class Parameters, std::size_t kIndex>
constexpr bool has_items_at() {
  if constexpr (kIndex < std::tuple_size_v<Parameters>)
    return IsItems<std::remove_cvref_t<std::tuple_element_t<kIndex, Parameters>>>::value;
  else
    return false;
}

/// Makes an entry of a function. `F` is copyable.
template <class F>
class MethodMaker {
  using Parameters = typename Signature<F>::Parameters;
  using Result = typename Signature<F>::Result;
  static constexpr bool kHasContext = has_context_at<Parameters, 0>();
  static constexpr bool kHasItems = has_items_at < Parameters, kHasContext ? 1 : 0 > ();
  static constexpr std::size_t kFirst = (kHasContext ? 1 : 0) + (kHasItems ? 1 : 0);
  static constexpr std::size_t kArity = std::tuple_size_v<Parameters> - kFirst;

  template <std::size_t kIndex>
  using Parameter = std::remove_cvref_t<std::tuple_element_t<kFirst + kIndex, Parameters>>;

  static constexpr bool takes_all() {
    if constexpr (kArity == 1)
      return std::is_same_v<Parameter<0>, Arguments>;
    else
      return false;
  }

 public:
  static MethodEntry make(std::string name, F function, MethodOptions options) {
    MethodEntry entry;
    entry.name = std::move(name);
    entry.options = std::move(options);
    entry.streams = kHasItems;
    entry.takes_all = takes_all();
    if constexpr (!takes_all()) add_parameters(entry, std::make_index_sequence<kArity>());
    entry.run = [shape = entry, function = std::move(function)](Context& context,
                                                                std::vector<Value> values) mutable {
      return run(shape, function, context, values, std::make_index_sequence<kArity>());
    };
    return entry;
  }

 private:
  template <std::size_t... kIndex>
  static void add_parameters(MethodEntry& entry, std::index_sequence<kIndex...>) {
    entry.arity = kArity;
    (entry.may_be_absent.push_back(IsOptional<Parameter<kIndex>>::value), ...);
  }

  template <std::size_t kIndex>
  static Parameter<kIndex> argument(const MethodEntry& entry, std::vector<Value>& values) {
    if constexpr (takes_all()) {
      return Arguments{std::move(values[0]), std::move(values[1])};
    } else {
      try {
        return value_as<Parameter<kIndex>>(std::move(values[kIndex]));
      } catch (const nlohmann::json::exception& error) {
        raise_unfit_argument(entry, kIndex, error.what());
      }
    }
  }

  template <std::size_t... kIndex>
  static Value run(const MethodEntry& entry,
                   F& function,
                   Context& context,
                   std::vector<Value>& values,
                   std::index_sequence<kIndex...>) {
    std::tuple<Parameter<kIndex>...> arguments{argument<kIndex>(entry, values)...};
    const auto call = [&](auto&&... leading) -> Value {
      if constexpr (std::is_void_v<Result>) {
        function(leading..., std::move(std::get<kIndex>(arguments))...);
        return nullptr;
      } else {
        return value_of(function(leading..., std::move(std::get<kIndex>(arguments))...));
      }
    };
    if constexpr (kHasItems) {
      std::remove_cvref_t<std::tuple_element_t<kHasContext ? 1 : 0, Parameters>> items(
          context.call());
      if constexpr (kHasContext)
        return call(context, items);
      else
        return call(items);
    } else if constexpr (kHasContext) {
      return call(context);
    } else {
      return call();
    }
  }
};

}  // namespace detail

/// Collects the methods of a class, whose instance becomes a worker (Worker::expose).
template <class T>
class Methods {
 public:
  explicit Methods(std::shared_ptr<T> instance) : instance_(std::move(instance)) {}

  /// A member function of any signature that a method may have.
  template <class R, class C, class... A>
  Methods& add(std::string name, R (C::*function)(A...), MethodOptions options = {}) {
    return add_function(
        std::move(name),
        [instance = instance_, function](A... arguments) -> R {
          return (instance.get()->*function)(std::forward<A>(arguments)...);
        },
        std::move(options));
  }

  template <class R, class C, class... A>
  Methods& add(std::string name, R (C::*function)(A...) const, MethodOptions options = {}) {
    return add_function(
        std::move(name),
        [instance = instance_, function](A... arguments) -> R {
          return (instance.get()->*function)(std::forward<A>(arguments)...);
        },
        std::move(options));
  }

  std::vector<detail::MethodEntry> take() { return std::move(entries_); }

 private:
  template <class F>
  Methods& add_function(std::string name, F function, MethodOptions options) {
    entries_.push_back(
        detail::MethodMaker<F>::make(std::move(name), std::move(function), std::move(options)));
    return *this;
  }

  std::shared_ptr<T> instance_;
  std::vector<detail::MethodEntry> entries_;
};

}  // namespace orrery::sdk
