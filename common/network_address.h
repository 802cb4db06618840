// Where other nodes reach this one.
#ifndef DOPPLER_COMMON_NETWORK_ADDRESS_H_
#define DOPPLER_COMMON_NETWORK_ADDRESS_H_

#include <string>

namespace doppler {

struct NetworkAddress {
  std::string interface;
  std::string address;  // IPv4, with dots
};

// Of the first interface that is up, has an IPv4 address and is not the loopback; the loopback's
// where there is none.
NetworkAddress network_address();

}  // namespace doppler

#endif  // DOPPLER_COMMON_NETWORK_ADDRESS_H_
