#include "common/network_address.h"

#include <array>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace doppler {

NetworkAddress network_address() {
  ifaddrs* list = nullptr;
  NetworkAddress found{"lo", "127.0.0.1"};
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr || item->ifa_addr->sa_family != AF_INET) continue;
    if ((item->ifa_flags & IFF_UP) == 0 || (item->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(item->ifa_addr)->sin_addr, text.data(),
              text.size());
    found = {item->ifa_name, text.data()};
    break;
  }
  freeifaddrs(list);
  return found;
}

}  // namespace doppler
