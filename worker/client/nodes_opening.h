// NodesOpening: how far PS nodes are with opening their rows, as they say in their answers to
// HELLO, and what is told to people about it.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"

namespace rowhouse {

class NodesOpening {
 public:
  explicit NodesOpening(size_t nodes) : nodes_(nodes) {}

  // Node `n` has opened `done` of `total` bytes; 0: it does not know how many there are. Returns
  // whether it has moved since it was noted last.
  bool Note(size_t n, uint64_t done, uint64_t total, TimeMs now);
  // It is open.
  void NoteOpen(size_t n) { nodes_[n].reset(); }

  // "opens its rows, 3.2 of 10.0 GB"; "" for a node that is open, or said nothing.
  std::string StateOf(size_t n) const;

  // "PS node 1 on a opens its rows, 3.2 of 10.0 GB, about 25 s left (2 nodes more)": the node
  // that has the longest way to go. "" if none is opening.
  std::string Line(const std::vector<std::string>& names, TimeMs now) const;

 private:
  struct Node {
    uint64_t done = 0;
    uint64_t total = 0;
    uint64_t done_at_first = 0;
    TimeMs noted_first_at = 0;

    // nullopt: not known.
    std::optional<double> SecondsLeft(TimeMs now) const;
  };

  std::vector<std::optional<Node>> nodes_;
};

}  // namespace rowhouse
