#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/doctor.h"
#include "common/network_address.h"

namespace doppler {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

Check check_host_name() {
  const std::string name = host_name();
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  Check check{.name = "host name"};
  if (error != 0) {
    check.outcome = CheckOutcome::kWarning;
    check.finding = fmt::format("{} does not resolve: {}", name, gai_strerror(error));
    check.cure = fmt::format("MPI and Slurm want it: add a line for {} to /etc/hosts", name);
    return check;
  }
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text.data(),
            text.size());
  freeaddrinfo(found);
  check.finding = fmt::format("{} is {}", name, text.data());
  return check;
}

// Listens at a free port of `address` and connects to it; "" or why that fails.
std::string why_port_fails(const std::string& address) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  inet_pton(AF_INET, address.c_str(), &place.sin_addr);
  auto* raw = reinterpret_cast<sockaddr*>(&place);
  socklen_t size = sizeof(place);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string reason;
  if (listener < 0 || caller < 0 || bind(listener, raw, size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, raw, &size) != 0 || connect(caller, raw, size) != 0) {
    reason = std::strerror(errno);
  }
  if (listener >= 0) close(listener);
  if (caller >= 0) close(caller);
  return reason;
}

Check check_port(const std::string& name, const std::string& address, const std::string& cure) {
  const std::string reason = why_port_fails(address);
  if (reason.empty()) return {.name = name, .finding = address + " can be listened at"};
  return {name, CheckOutcome::kFailed, fmt::format("{}: {}", address, reason), cure};
}

Check check_network_port() {
  const NetworkAddress address = network_address();
  const std::string name = "network port";
  if (address.address == "127.0.0.1") {
    return {name, CheckOutcome::kWarning, "no network interface is up",
            "runs of several nodes need one; those of this machine do not"};
  }
  Check check = check_port(name, address.address, "open the interface to local programs");
  check.finding = address.interface + ", " + check.finding;
  if (check.outcome == CheckOutcome::kOk && is_virtual_interface(address.interface)) {
    check.outcome = CheckOutcome::kWarning;
    check.cure =
        "the learner offers the first interface that is up, and other nodes may not reach this "
        "one: take it down, or start rank 0 on a node without it";
  }
  return check;
}

// What workers of the learner's machine use; the name lies in no folder.
Check check_local_socket() {
  Check check{.name = "local socket", .finding = "works"};
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  const std::string name = fmt::format("doppler-doctor-{}", getpid());
  std::copy(name.begin(), name.end(), place.sun_path + 1);
  const auto size = static_cast<socklen_t>(sizeof(sa_family_t) + 1 + name.size());
  if (descriptor < 0 || bind(descriptor, reinterpret_cast<sockaddr*>(&place), size) != 0) {
    check.outcome = CheckOutcome::kFailed;
    check.finding = std::strerror(errno);
    check.cure = "let workers come over TCP: --set network.transport=tcp";
  }
  if (descriptor >= 0) close(descriptor);
  return check;
}

}  // namespace

bool is_virtual_interface(std::string_view name) {
  return std::ranges::any_of(
      std::array{"docker", "br-", "virbr", "veth", "cni", "podman", "lxc", "flannel"},
      [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Checks check_network() {
  return {check_host_name(),
          check_port("loopback port", "127.0.0.1",
                     "the loopback interface must be up: ip link set lo up"),
          check_network_port(), check_local_socket()};
}

}  // namespace doppler
