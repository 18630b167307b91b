// RawExchange: the yardstick of pull and push: requests and replies of given sizes over loopback
// TCP by ZeroMQ alone. Frames are lent to ZeroMQ from buffers made before, one for each message in
// flight, and dropped unread on arrival.
//
// Two transports with an I/O thread each stand for two processes, and the answering end has a
// thread of its own, as a shard has. Threads: one caller; the answering thread is inside.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "common/frame.h"
#include "common/status.h"
#include "common/transport/transport.h"

namespace rowhouse {

struct RawExchangeOptions {
  size_t request_bytes = 0;  // >= 1
  size_t reply_bytes = 0;    // >= 1
  size_t window = 4;         // requests in flight
};

class RawExchange {
 public:
  static Result<std::unique_ptr<RawExchange>> Start(const RawExchangeOptions& options);
  ~RawExchange();
  RawExchange(const RawExchange&) = delete;
  RawExchange& operator=(const RawExchange&) = delete;

  // Exchanges this many requests with a full window; returns the requests a second.
  Result<double> RequestsPerSecond(size_t requests);

 private:
  // Messages that use the same buffers in turn, one for each message in flight.
  class PreparedMessages {
   public:
    PreparedMessages(size_t bytes, size_t messages);
    Frames Next();

   private:
    std::vector<std::vector<std::byte>> buffers_;
    size_t next_ = 0;
  };

  explicit RawExchange(const RawExchangeOptions& options);
  void Answer(std::stop_token stop, Listener& listener);

  const RawExchangeOptions options_;
  // Before the transports: ZeroMQ may hold their bytes until its contexts end.
  PreparedMessages requests_;
  PreparedMessages replies_;
  std::unique_ptr<Transport> asking_, answering_;
  std::unique_ptr<Dialer> dialer_;
  std::jthread answering_thread_;
};

}  // namespace rowhouse
