// The messages of the call protocol as structs: what is read is checked here, once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/sdk/errors.hpp"
#include "runtime/sdk/frame.hpp"

namespace orrery::sdk {

inline constexpr std::uint64_t kOpenCallsMax = 4096;
inline constexpr std::uint64_t kCreditFirst = 16;
inline constexpr std::size_t kOnceMax = 64;

// --- from callers ---

struct HelloMessage {
  std::int64_t protocol = 0;
  std::string caller;
  std::string to;
  std::string nonce;
};

struct ProofMessage {
  std::string proof;
};

struct CallMessage {
  std::uint64_t id = 0;
  std::string method;
  Value args = Value::array();
  Value kwargs = Value::object();
  std::uint64_t deadline_ms = 0;
  std::optional<std::uint64_t> generation;
  std::string once;
  std::uint64_t attempt = 0;
  bool stream = false;
  std::uint64_t credit = kCreditFirst;
  std::uint64_t result_max = kMessageMax;
  std::uint64_t skipped = 0;  ///< Its payload was over the limit: so many bytes.
};

struct CreditMessage {
  std::uint64_t id = 0;
  std::uint64_t count = 0;
};

struct CancelMessage {
  std::uint64_t id = 0;
};

using FromCaller =
    std::variant<HelloMessage, ProofMessage, CallMessage, CreditMessage, CancelMessage>;

// --- from callees ---

struct ChallengeMessage {
  std::string nonce;
  std::string proof;
};

struct WelcomeMessage {
  std::string worker;
  std::string role;
  std::int64_t rank = -1;
  std::int64_t role_rank = -1;
  std::uint64_t generation = 0;
  std::uint64_t message_max = kMessageMax;
};

struct RefusedMessage {
  ErrorFields error;
};

struct ResultMessage {
  std::uint64_t id = 0;
  Value value;
  std::uint64_t skipped = 0;
};

struct ItemMessage {
  std::uint64_t id = 0;
  Value value;
  std::uint64_t skipped = 0;
};

struct EndMessage {
  std::uint64_t id = 0;
};

struct ErrorMessage {
  std::uint64_t id = 0;
  ErrorFields error;
};

using FromCallee = std::variant<ChallengeMessage,
                                WelcomeMessage,
                                RefusedMessage,
                                ResultMessage,
                                ItemMessage,
                                EndMessage,
                                ErrorMessage>;

/// A message, or nothing and the broken rule in `why`.
std::optional<FromCaller> caller_message(Frame frame, std::string& why);
std::optional<FromCallee> callee_message(Frame frame, std::string& why);

/// Arguments as text and buffers: `"args":[...],"kwargs":{...},"buffers":[...]`. They may be sent
/// to several workers, since nothing of one call is in them.
struct WrittenValues {
  std::string fields;
  std::vector<ByteView> buffers;
};

/// The result owns the values. Throws BadArguments for what does not travel. `args` a list,
/// `kwargs` an object.
std::shared_ptr<const WrittenValues> write_arguments(Value args, Value kwargs);

/// `"value":...,"buffers":[...]`. As above.
std::shared_ptr<const WrittenValues> write_result(Value value);

/// A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string quoted_text(std::string_view text);

}  // namespace orrery::sdk
