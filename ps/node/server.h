// Server: a PS node. One well-known listener answers HELLO. The first HELLO of a job brings its
// tables and plan; the server then opens this node's shards and starts a ShardRunner for each. When
// all workers have said BYE it closes the shards and waits for the next job.
//
// Shards of a large model open for minutes if rows move. Meanwhile a HELLO of the job waits for the
// end, and if that does not come within a second, is answered with the progress. The worker asks
// again, so that the server knows that it is there. Whoever asks after a failure is told of it.
//
// A killed worker says no BYE, so its job stays open. The server refuses other jobs as long as it
// hears from the workers of this one. Once it has heard nothing from them for silence_ms, it ends
// the job when the next job asks.
//
// Threads: Run is called on one thread; each shard has two or three of its own, and shards are
//          opened on others. Any thread may set `stop`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/clock.h"
#include "common/transport/transport.h"
#include "common/wire/hello.h"
#include "common/wire/message.h"
#include "ps/node/job_opening.h"
#include "ps/shard/senders.h"
#include "sharding/plans/job_spec.h"

namespace rowhouse {

class Server {
 public:
  Server(const ServerOptions& options, ShardListeners shard_listener, const Clock& clock);
  ~Server();

  // Serves until `stop` is set or, with `one_job`, until a job has ended. Then it closes the shards
  // and saves nothing: rows that are dirty in their caches are lost. What an answered FLUSH covered
  // is safe at any time.
  Status Run(Listener& node, const std::atomic<bool>& stop, bool one_job);

 private:
  // A HELLO that is not answered yet.
  struct Waiting {
    PeerId peer;
    Header header;  // of the answer
    std::string host;
    TimeMs until = 0;
  };
  struct Job {
    JobSpec spec;
    uint32_t node = 0;
    TimeMs began_at = 0;
    std::string text_digest;              // of the HELLO that brought it
    TimeMs heard_at = 0;                  // last HELLO; shards know of other messages
    std::set<uint32_t> gone;              // workers that said BYE
    Senders senders;                      // that said HELLO
    std::map<uint32_t, Waiting> waiting;  // by worker
    OpenedShards shards;
    std::unique_ptr<JobOpening> opening;  // of the shards; null: they are open
  };
  // The last job, if it could not be opened.
  struct Failure {
    uint64_t job_id = 0;
    std::string text_digest;
    Status status;
  };

  // nullopt: the answer comes later.
  std::optional<Frames> Answer(const PeerId& peer, const Message& message, Listener& node);
  std::optional<Frames> OnHello(const PeerId& peer, const Header& header, const Header& answer,
                                const HelloRequest& request, Listener& node);
  // Whether this is a worker of the job. Begins to open the job if there is none.
  Status Admit(const PeerId& peer, const Header& header, const HelloRequest& request,
               Listener& node);
  Status AdmitAgain(const Header& header, uint32_t node) const;
  Status OnBye(const PeerId& peer, const Header& header);
  // Answers those that wait for a job that is being opened, if it is open or they waited long.
  void AnswerWaiting(Listener& node);
  // How long Run may wait for a message.
  int WaitMs() const;
  Status EndOpening();
  void BeginJob(JobSpec spec, uint32_t number, std::string text_digest, Listener& node);
  void EndJob();
  HelloReply ReplyOf() const;
  HelloReply Refusal(uint32_t worker, const std::string& host, const Status& status) const;
  // Time since the last message of a worker of the job.
  TimeMs SilenceMs() const;
  Status CheckSameJob(const JobSpec& spec, uint32_t node) const;
  Status CheckNode(uint32_t node) const;

  ServerOptions options_;
  const ShardListeners shard_listener_;
  const Clock& clock_;
  std::shared_ptr<StoreEnvironment> environment_;
  std::optional<Job> job_;
  std::optional<Failure> failure_;
};

}  // namespace rowhouse
