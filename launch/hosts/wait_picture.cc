#include "launch/hosts/wait_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

namespace rowhouse {
namespace {

using Name = std::pair<std::string, int>;  // "worker", 2
using Names = std::set<Name>;

Name NameOf(const std::string& who) {
  const size_t blank = std::min(who.find(' '), who.size());
  return {who.substr(0, blank), std::atoi(who.c_str() + blank)};
}

// "shard 0, 3 and worker 2".
std::string ToWords(const Names& names) {
  std::string words, last;
  for (const auto& [kind, number] : names) {
    words += words.empty() ? "" : kind == last ? ", " : " and ";
    words += kind == last ? std::to_string(number) : fmt::format("{} {}", kind, number);
    last = kind;
  }
  return words;
}

class Picture {
 public:
  Picture(const std::vector<std::string>& members, const std::vector<Waits>& answers) {
    for (const std::string& member : members) members_[NameOf(member)] = member;
    for (const Waits& answer : answers) answers_[NameOf(answer.who)] = answer;
    for (const auto& [name, answer] : answers_) {
      for (const Wait& wait : answer.waits) AddPeers(name, wait, &waits_for_[name]);
    }
    std::erase_if(waits_for_, [](const auto& one) { return one.second.empty(); });
  }

  // Those of whom the same is to be said share a line.
  std::string Draw() const {
    std::map<std::string, Names> who_by_line;
    for (const auto& [name, answer] : answers_) {
      std::map<std::string, std::pair<Names, TimeMs>> peers_by_what;
      for (const Wait& wait : answer.waits) {
        auto& [peers, ms] = peers_by_what[wait.what];
        AddPeers(name, wait, &peers);
        ms = std::max(ms, wait.ms);
      }
      for (const auto& [what, wait] : peers_by_what) {
        const auto& [peers, ms] = wait;
        who_by_line[fmt::format(
                        "waits for {} ({}{})",
                        peers.empty() ? "the other workers, who all came" : ToWords(peers), what,
                        ms == 0 ? "" : fmt::format(", {:.1f} s", static_cast<double>(ms) / 1e3))]
            .insert(name);
      }
      if (answer.waits.empty()) who_by_line[StateOf(name)].insert(name);
    }
    for (const auto& [name, member] : members_) {
      if (!answers_.contains(name)) who_by_line[StateOf(name)].insert(name);
    }
    std::string text = "what the run waits for:\n";
    for (const auto& [line, who] : who_by_line) {
      const bool is_plural = who.size() > 1 && line.starts_with("waits");
      text += fmt::format("  {} {}\n", ToWords(who), is_plural ? "wait" + line.substr(5) : line);
    }
    text += DescribeRoots();
    uint64_t left_out = 0;
    for (const auto& [name, answer] : answers_) left_out += answer.left_out;
    if (left_out == 0) return text;
    return text + fmt::format(
                      "{} more waits had no room in the answers: the root may be among "
                      "those that are waited for there\n",
                      left_out);
  }

 private:
  // Whom `name` waits for.
  void AddPeers(const Name& name, const Wait& wait, Names* peers) const {
    if (wait.peer != kOtherWorkers) {
      peers->insert(NameOf(wait.peer));
      return;
    }
    const auto is_there = [&](const Wait& its) { return its.what == wait.what; };
    for (const auto& [other, member] : members_) {
      const auto answer = answers_.find(other);
      const bool came =
          other.first != "worker" || other == name ||
          (answer != answers_.end() && std::ranges::any_of(answer->second.waits, is_there));
      if (!came) peers->insert(other);
    }
  }

  // Of one that waits for nobody.
  std::string StateOf(const Name& name) const {
    const auto answer = answers_.find(name);
    if (answer == answers_.end()) {
      return members_.contains(name) ? "said nothing: it works, is stopped or has ended"
                                     : "was not asked";
    }
    return "waits for nobody" + (answer->second.note.empty() ? "" : ": " + answer->second.note);
  }

  std::string DescribeRoots() const {
    Names leading;  // to a root, and the roots
    for (const auto& [name, peers] : waits_for_) {
      for (const Name& peer : peers) {
        if (!waits_for_.contains(peer)) leading.insert(peer);
      }
    }
    std::map<std::string, Names> roots_by_words;  // shards of one process share a line
    for (const Name& root : leading) {
      const auto member = members_.find(root);
      const std::string place =
          member == members_.end() ? "" : member->second.substr(ToWords({root}).size());
      roots_by_words[place + ", which " + StateOf(root)].insert(root);
    }
    std::string text;
    for (const auto& [words, roots] : roots_by_words) {
      text += fmt::format("root: {}{}\n", ToWords(roots), words);
    }
    const auto leads = [&](const Name& name) { return leading.contains(name); };
    for (size_t before = leading.size() + 1; before != leading.size();) {
      before = leading.size();
      for (const auto& [name, peers] : waits_for_) {
        if (std::ranges::any_of(peers, leads)) leading.insert(name);
      }
    }
    for (const auto& [name, peers] : waits_for_) {
      if (!leads(name)) return text + DescribeCycle(name);
    }
    return text.empty() ? "root: none, as nobody waits for another\n" : text;
  }

  // From one who waits, and comes to no root.
  std::string DescribeCycle(const Name& from) const {
    std::vector<Name> way = {from};
    auto begin = way.end();
    do {
      way.push_back(*waits_for_.at(way.back()).begin());
      begin = std::find(way.begin(), way.end(), way.back());
    } while (begin + 1 == way.end());
    std::string words = ToWords({*begin});
    while (++begin != way.end()) words += " -> " + ToWords({*begin});
    return "root: none, each waits for the next: " + words +
           "; if another picture says so too, look at the network between them\n";
  }

  std::map<Name, std::string> members_;
  std::map<Name, Waits> answers_;
  std::map<Name, Names> waits_for_;  // of those that wait for somebody
};

}  // namespace

std::string WaitPicture(const std::vector<std::string>& members,
                        const std::vector<Waits>& answers) {
  return Picture(members, answers).Draw();
}

}  // namespace rowhouse
