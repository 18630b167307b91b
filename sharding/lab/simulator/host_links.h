// HostLinks: the network of hosts. Each host has one link out and one in, of equal bandwidth, which
// its ranks share in the order in which they send; between hosts there is a delay, and the network
// itself is never short. Bytes pass through: a message leaves the receiver's link no earlier than
// the sender's, but does not wait to be whole in between. Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rowhouse {

class HostLinks {
 public:
  // gbits 0: messages take no time. `round_trip_us`: there and back.
  HostLinks(uint32_t hosts, double gbits, double round_trip_us)
      : ms_per_byte_(gbits > 0 ? 8e-6 / gbits : 0),
        delay_ms_(round_trip_us / 2e3),
        out_free_ms_(hosts),
        in_free_ms_(hosts) {}

  // When bytes that begin to be sent at `start_ms`, or as soon as the link is free, have been sent.
  double Send(uint32_t host, double start_ms, double bytes) {
    return Use(&out_free_ms_[host], start_ms, bytes);
  }
  // When bytes that begin to arrive at `start_ms` have been received.
  double Receive(uint32_t host, double start_ms, double bytes) {
    return Use(&in_free_ms_[host], start_ms, bytes);
  }
  double Ms(double bytes) const { return bytes * ms_per_byte_; }
  double delay_ms() const { return delay_ms_; }

 private:
  double Use(double* free_ms, double start_ms, double bytes) const {
    return *free_ms = std::max(*free_ms, start_ms) + Ms(bytes);
  }

  const double ms_per_byte_, delay_ms_;
  std::vector<double> out_free_ms_, in_free_ms_;
};

}  // namespace rowhouse
