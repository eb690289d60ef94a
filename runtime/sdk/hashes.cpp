#include "runtime/sdk/hashes.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "core/base/hex.hpp"

namespace orrery::sdk {
namespace {

std::string hmac_bytes(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  HMAC(EVP_sha256(),
       key.data(),
       static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()),
       text.size(),
       out.data(),
       &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  return hex_of({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit_of(digits[i]);
    const int low = digit_of(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

std::string hmac_hex(std::string_view key, std::string_view text) {
  return to_hex(hmac_bytes(key, text));
}

std::string call_key(std::string_view token, std::string_view caller) {
  return hmac_bytes(token, "orrery-call/1 " + std::string(caller));
}

std::string call_proof(std::string_view key,
                       ProofSide side,
                       std::string_view caller_nonce,
                       std::string_view callee_nonce,
                       std::string_view certificate) {
  std::string text = side == ProofSide::Server ? "server" : "client";
  for (const std::string_view part : {caller_nonce, callee_nonce, certificate})
    text.append("\n").append(part);
  return hmac_hex(key, text);
}

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_hex(std::size_t bytes) {
  std::string out(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(bytes)) != 1)
    throw std::runtime_error("the cryptographic library has no random bytes");
  return to_hex(out);
}

std::optional<std::string> certificate_digest(const std::string& pem_file) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(pem_file.c_str(), "re"), std::fclose);
  if (!file) return std::nullopt;
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      PEM_read_X509(file.get(), nullptr, nullptr, nullptr), X509_free);
  if (!certificate) return std::nullopt;
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  if (X509_digest(certificate.get(), EVP_sha256(), out.data(), &size) != 1) return std::nullopt;
  return to_hex({reinterpret_cast<const char*>(out.data()), size});
}

}  // namespace orrery::sdk
