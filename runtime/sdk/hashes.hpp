// Keys and proofs of the call protocol, and random names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::sdk {

/// HMAC-SHA256 as 64 hexadecimal digits.
std::string hmac_hex(std::string_view key, std::string_view text);

/// The key between a caller and the worker of `token`, as its 32 bytes.
std::string call_key(std::string_view token, std::string_view caller);

enum class ProofSide { Server, Client };

/// What either side shows: that it has `key` (32 bytes) for this connection.
std::string call_proof(std::string_view key,
                       ProofSide side,
                       std::string_view caller_nonce,
                       std::string_view callee_nonce,
                       std::string_view certificate);

/// In time that does not depend on the contents.
bool equal_secrets(std::string_view a, std::string_view b);

/// `bytes` random bytes as hexadecimal digits. Throws std::runtime_error where there are none.
std::string random_hex(std::size_t bytes);

/// The bytes of hexadecimal digits; nothing where they are none.
std::optional<std::string> from_hex(std::string_view digits);

std::string to_hex(std::string_view bytes);

/// SHA-256 of the first certificate of a PEM file, in DER, as 64 digits; nothing where the file has
/// none.
std::optional<std::string> certificate_digest(const std::string& pem_file);

}  // namespace orrery::sdk
