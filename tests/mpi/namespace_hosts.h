// NamespaceHosts: two hosts on one machine, alpha (10.77.0.1) and beta (10.77.0.2). Each has its
// own network, name, shared memory and an empty disk of its own (a tmpfs) mounted at rows(); the
// rest of the file system is shared. Between them is one cable, eth0; nothing of them is seen
// outside.
//
// They live as long as the object. One process keeps both, in a process namespace of its own: its
// death, also by a kill of the test, ends every process on them and with those networks and mounts,
// so that nothing has to be cleaned up. Needs root; why_not() says what the system forbids.
#pragma once

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/process.h"

namespace rowhouse {

class NamespaceHosts {
 public:
  static constexpr std::array<const char*, 2> kNames = {"alpha", "beta"};

  NamespaceHosts()
      : keeper_({.arguments = {"setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid",
                               "--fork", "--kill-child", "bash", "-ec", Script()},
                 .time_limit = std::chrono::seconds(120)}) {
    std::ofstream(agent()) << AgentScript();
    chmod(agent().c_str(), 0700);
    if (!keeper_.WaitForOutput("hosts are up")) {
      why_not_ = "they cannot be made: " + keeper_.Wait().err;
      return;
    }
    first_pid_ = keeper_.Descendants().at(0).pid;
  }

  // "": the hosts are there; else why this system has none.
  const std::string& why_not() const { return why_not_; }

  // Where each host's own disk is.
  std::string rows() const { return directory_ / "rows"; }

  // A program on the hosts that runs a command on one of them, as ssh does: agent HOST COMMAND...
  std::string agent() const { return directory_ / "agent"; }

  // Runs `command` on a host. What is in `environment` is there for it and what it starts.
  ProcessResult RunOn(const std::string& host, const std::string& command,
                      const std::map<std::string, std::string>& environment = {}) const {
    return RunCommand(CommandOn(host, command, environment));
  }
  Command CommandOn(const std::string& host, const std::string& command,
                    const std::map<std::string, std::string>& environment = {}) const {
    return {.arguments = {"nsenter", "--target", std::to_string(first_pid_), "--mount", "--pid",
                          "--", agent(), host, command},
            .environment = environment};
  }

  // Ends all processes on a host, which is then gone for good.
  void Lose(const std::string& host) const {
    RunOn(host,
          R"(own=$(readlink /proc/$$/ns/net)
             for pid in /proc/[0-9]*; do
               [[ $pid == /proc/$$ || $(readlink $pid/ns/net) != "$own" ]] || kill -9 ${pid#/proc/}
             done)");
  }

 private:
  std::string Script() const {
    return fmt::format(R"sh(
mount -t proc proc /proc
readlink /proc/self/ns/pid >{pid}s
mkdir {rows} {tmp}
for host in {hosts}; do
  unshare --net --mount --uts bash -ec "
    hostname $host
    mount -t tmpfs rows {rows}
    mount -t tmpfs shm /dev/shm  # MPI of two tests at once would meet there, by equal numbers
    ip link set lo up
    touch {up}.$host
    exec sleep infinity" &
  echo $! >{pid}.$host
done
for host in {hosts}; do
  for ((i = 0; i < 250; ++i)); do [[ ! -e {up}.$host ]] || break; sleep 0.02; done
  [[ -e {up}.$host ]] || exit 1
done
alpha=$(cat {pid}.alpha) beta=$(cat {pid}.beta)
nsenter --target $alpha --net ip link add eth0 type veth peer name eth0 netns $beta
nsenter --target $alpha --net ip addr add 10.77.0.1/24 dev eth0
nsenter --target $beta --net ip addr add 10.77.0.2/24 dev eth0
nsenter --target $alpha --net ip link set eth0 up
nsenter --target $beta --net ip link set eth0 up
echo hosts are up
wait
)sh",
                       fmt::arg("hosts", fmt::join(kNames, " ")), fmt::arg("rows", rows()),
                       fmt::arg("up", directory_ / "up"), fmt::arg("pid", directory_ / "pid"),
                       fmt::arg("tmp", directory_ / "tmp"));
  }

  // Process numbers mean others outside, so there it does nothing.
  std::string AgentScript() const {
    return fmt::format(R"sh(#!/bin/bash
[[ $(readlink /proc/self/ns/pid) == "$(cat {0}s)" ]] || exit 255
pid=$(cat {0}.$1 2>/dev/null) || {{ echo "no host $1" >&2; exit 255; }}
shift
export TMPDIR={1}
exec nsenter --target $pid --net --mount --uts --wd="$PWD" -- bash -c "$*"
)sh",
                       directory_ / "pid", directory_ / "tmp");
  }

  const TempDir directory_;
  Process keeper_;
  pid_t first_pid_ = 0;
  std::string why_not_;
};

}  // namespace rowhouse
