#include "worker/client/nodes_opening.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "common/counted.h"

namespace rowhouse {

bool NodesOpening::Note(size_t n, uint64_t done, uint64_t total, TimeMs now) {
  std::optional<Node>& node = nodes_[n];
  const bool has_moved = !node || node->done != done;
  if (!node) node = Node{.done_at_first = done, .noted_first_at = now};
  node->done = done;
  node->total = total;
  return has_moved;
}

std::optional<double> NodesOpening::Node::SecondsLeft(TimeMs now) const {
  if (total < done || done == done_at_first || now <= noted_first_at) return std::nullopt;
  const double ms = static_cast<double>(now - noted_first_at);
  return static_cast<double>(total - done) / static_cast<double>(done - done_at_first) * ms / 1000;
}

std::string NodesOpening::StateOf(size_t n) const {
  const std::optional<Node>& node = nodes_[n];
  if (!node) return "";
  const auto gigabytes = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  if (node->total < node->done || node->total == 0) {
    return fmt::format("opens its rows, {:.1f} GB so far", gigabytes(node->done));
  }
  return fmt::format("opens its rows, {:.1f} of {:.1f} GB", gigabytes(node->done),
                     gigabytes(node->total));
}

std::string NodesOpening::Line(const std::vector<std::string>& names, TimeMs now) const {
  size_t opening = 0, last = 0;
  double most = -1;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n]) continue;
    ++opening;
    constexpr double kNotKnown = std::numeric_limits<double>::infinity();
    const double left = nodes_[n]->SecondsLeft(now).value_or(kNotKnown);
    if (left <= most) continue;
    most = left;
    last = n;
  }
  if (opening == 0) return "";
  std::string line = fmt::format("{} {}", names[last], StateOf(last));
  if (std::isfinite(most)) line += fmt::format(", about {:.0f} s left", std::ceil(most));
  if (opening > 1) line += fmt::format(" ({} more)", Counted(opening - 1, "node"));
  return line;
}

}  // namespace rowhouse
