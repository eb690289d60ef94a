// Makes certificates: one authority per cluster, which signs everybody else's. EC keys on P-256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/security/role.hpp"

namespace orrery::runtime {

/// A private key and its certificate, both in PEM form.
struct KeyPair {
  std::string key;
  std::string certificate;
};

/// From when, and for how long.
struct Validity {
  Instant now;       ///< Since the Unix epoch. It begins 10 minutes earlier, for clocks
                     ///< that are behind; whole seconds.
  Duration lasting;  ///< Above 0.
};

/// Whose certificate it is to be.
struct CertificateRequest {
  Holder holder;
  std::vector<std::string> hosts;  ///< Names and addresses at which a controller is reached.
};

/// An authority that signs no other authority. Its name has a random part, so that two of them are
/// never taken for each other. Errors: what the cryptographic library refuses.
Result<KeyPair> make_authority(const Validity& validity);

/// A certificate for `request` with a key of its own: clients can show it, and controllers serve
/// with it. It does not outlive its authority's. Errors: an authority that cannot be read or whose
/// key is not its certificate's, a name that is_holder_name refuses, a host that is neither a name
/// nor an address.
Result<KeyPair> issue(const KeyPair& authority,
                      const CertificateRequest& request,
                      const Validity& validity);

/// A certificate that its own key signs, for one that is known by its SHA-256 alone: it names
/// nothing, and no authority vouches for it. Errors: what the cryptographic library refuses.
Result<KeyPair> make_own_certificate(const Validity& validity);

/// Whether `host` is a name or a numeric address that a certificate can hold.
bool is_certificate_host(const std::string& host);

/// What a certificate says.
struct CertificateFacts {
  std::string role;  ///< As written; not necessarily one of Role.
  std::string name;
  Instant expires;  ///< Since the Unix epoch.
};

/// Of the first certificate in `pem`, whose chain it does not check. Errors: there is none.
Result<CertificateFacts> read_certificate(std::string_view pem);

}  // namespace orrery::runtime
