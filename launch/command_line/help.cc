#include "launch/command_line/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <vector>

#include "launch/command_line/foreign_flags.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"

namespace rowhouse {
namespace {

constexpr size_t kColumns = 96;

// `text` in lines of at most kColumns, each behind six blanks.
std::string Wrap(const std::string& text) {
  std::string out, line;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && line.size() + 1 + word.size() > kColumns - 6) {
      out += "      " + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return out + "      " + line + "\n";
}

std::string Describe(std::string_view name, const std::string& value, const std::string& text) {
  return fmt::format("  --{} (default: {})\n", name, value.empty() ? "none" : value) + Wrap(text);
}

std::string DescribeSetting(const SettingField& field) {
  std::string text = fmt::format("{}. Takes {}.", field.help, field.expected);
  if (!field.aliases.empty()) text += fmt::format(" Also: --{}.", fmt::join(field.aliases, ", --"));
  return Describe(field.name, field.default_text(), text);
}

std::string VerbsText() {
  std::string text =
      "rowhouse: a distributed parameter server that trains DLRM models whose embedding tables\n"
      "are larger than one host's memory\n\nusage: rowhouse VERB [--flag=value ...]\n\n";
  for (const Verb& verb : Verbs()) {
    if (!verb.is_hidden) text += fmt::format("  {:8} {}\n", verb.name, verb.what);
  }
  return text + "\nrowhouse VERB --help lists the flags of a verb; rowhouse --version.\n";
}

// Settings that `is_shown`, by section.
template <typename IsShown>
std::string SettingsText(const IsShown& is_shown) {
  std::string text, section;
  for (const SettingField& field : SettingFields()) {
    if (!is_shown(field)) continue;
    if (section != SectionName(field.section)) {
      section = SectionName(field.section);
      text += fmt::format("\n{}:\n", section);
    }
    text += DescribeSetting(field);
  }
  return text;
}

// Flags of the verb that `is_shown`.
template <typename IsShown>
std::string FlagsText(VerbSet verb, const IsShown& is_shown) {
  std::string text;
  for (const VerbFlag& flag : VerbFlags()) {
    if ((flag.verbs & verb) == 0 || !is_shown(flag)) continue;
    text += Describe(flag.name, std::string(flag.default_text), std::string(flag.help) + ".");
  }
  return text;
}

// Those without a section, then the sections, each in the order of its first flag.
std::string FlagsBySection(VerbSet verb) {
  std::vector<std::string_view> sections = {""};
  for (const VerbFlag& flag : VerbFlags()) {
    const bool is_new = std::ranges::count(sections, flag.section) == 0;
    if (is_new && (flag.verbs & verb) != 0) sections.push_back(flag.section);
  }
  std::string text;
  for (const std::string_view section : sections) {
    if (!section.empty()) text += fmt::format("\n{}:\n", section);
    text += FlagsText(verb, [&](const VerbFlag& flag) { return flag.section == section; });
  }
  return text;
}

std::string LogFlagsText() {
  std::string text = "\nlog (glog):\n";
  for (const std::string_view name : LogFlags()) {
    const auto info = gflags::GetCommandLineFlagInfoOrDie(std::string(name).c_str());
    text += Describe(name, info.default_value,
                     info.description + (info.description.ends_with('.') ? "" : "."));
  }
  return text;
}

// What a flag of plan is for: its topics, by AddPlanOption or by the beginning of its help ("With
// op_trace: ..."), where it may also name an option of a topic.
bool IsOfTopic(const VerbFlag& flag, const std::string& topic, int depth = 0) {
  if (flag.name == topic) return true;
  const std::vector<std::string> topics = TopicsOfOption(std::string(flag.name));
  if (std::ranges::count(topics, topic) > 0) return true;
  if (depth > 2 || !flag.help.starts_with("With ")) return false;
  const std::string_view of = flag.help.substr(5, flag.help.find_first_of(" :", 5) - 5);
  const VerbFlag* const other = FindVerbFlag(of, "plan");
  return other != nullptr && other->name != flag.name && IsOfTopic(*other, topic, depth + 1);
}

bool IsOfAnyTopic(const VerbFlag& flag) {
  const std::vector<std::string> topics = PlanTopics();
  return std::ranges::any_of(topics, [&](const auto& topic) { return IsOfTopic(flag, topic); });
}

}  // namespace

std::string PlanHelpText(const std::string& topic) {
  const std::vector<std::string> topics = PlanTopics();
  std::string text =
      fmt::format("rowhouse plan: {}\n\nusage: rowhouse plan {}[--flag=value ...]\n\n",
                  FindVerb("plan")->what, topic.empty() ? "" : fmt::format("--{} ", topic));
  const auto is_topic = [&](const VerbFlag& flag) {
    return std::ranges::count(topics, flag.name) > 0;
  };
  if (topic.empty()) {
    text += "What it can be asked for:\n" + FlagsText(kPlan, is_topic);
    text += "\nFlags of all:\n" + FlagsText(kPlan, [](const VerbFlag& flag) {
              return flag.section.empty() && !IsOfAnyTopic(flag);
            });
  } else {
    text += FlagsText(kPlan, [&](const VerbFlag& flag) { return IsOfTopic(flag, topic); });
    const VerbFlag* const of = FindVerbFlag(topic, "plan");
    text += "\nFlags of others, too:\n" + FlagsText(kPlan, [&](const VerbFlag& flag) {
              return !IsOfAnyTopic(flag) && (flag.section.empty() || flag.section == of->section);
            });
  }
  return text +
         fmt::format(
             "\nrowhouse plan --help=NAME lists the flags of one of {}. Those of model, data "
             "and\ncluster are train's; rowhouse plan --help=all lists all of them.\n",
             fmt::join(topics, ", "));
}

std::string HelpText(const std::string& verb, HelpPage page) {
  const Verb* const known = FindVerb(verb);
  if (known == nullptr) return VerbsText();
  if (known->bit == kPlan && page == HelpPage::kBasic) return PlanHelpText("");
  // Of a few settings all are shown at once.
  const bool is_basic = page == HelpPage::kBasic && known->bit == kTrain;
  std::string text =
      fmt::format("rowhouse {}: {}\n\nusage: rowhouse {} [--flag=value ...]{}{}\n", verb,
                  known->what, verb, known->arguments.empty() ? "" : " ", known->arguments);
  if (is_basic) {
    text += fmt::format(
        "\nThese are the flags that most runs need; rowhouse {} --help=all lists all of them.\n",
        verb);
  }
  text +=
      "\nA switch is turned on by --name and off by --noname. - may stand for _ in names. Numbers "
      "may\n"
      "be written 4_000_000 or 4e6, sizes 4GB (in powers of 1024).\n\n";
  text += Describe("flagfile", "", "Reads flags from this file, one a line; # begins a comment.");
  text += FlagsBySection(known->bit);
  text += SettingsText([&](const SettingField& field) {
    return (field.verbs & known->bit) != 0 && (field.is_basic || !is_basic);
  });
  return is_basic ? text : text + LogFlagsText();
}

namespace {

// bash takes --name=value for three words: "--name", "=" and "value".
constexpr std::string_view kScript = R"(# Completes rowhouse's verbs, flags and values in bash.
# Made by: rowhouse completion bash
_rowhouse() {
  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}"
  local flag="" verb="" flags="" values="" word
  COMPREPLY=()
  if [[ "$current" == "=" ]]; then
    flag="$before" current=""
  elif [[ "$before" == "=" ]]; then
    flag="${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  if [[ -n "$flag" ]]; then
    case "${flag//-/_}" in
{values}    esac
    if [[ -n "$values" ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    return
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    if [[ "$word" != -* ]]; then verb="$word"; break; fi
  done
  case "$verb" in
    "") flags="{verbs} --help --version" ;;
{flags}  esac
  if [[ -z "$verb" || "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
    if [[ "${#COMPREPLY[@]}" == 1 && "${COMPREPLY[0]}" == *= ]]; then compopt -o nospace; fi
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
} 2>/dev/null
complete -F _rowhouse rowhouse
)";

// "--name=", or "--name" of a switch.
std::string CompletedFlag(const std::string& name, const std::string& verb) {
  const bool has_value = !IsSwitch(name, verb) && name != "help" && name != "version";
  return fmt::format("--{}{}", name, has_value ? "=" : "");
}

std::string Replace(std::string text, std::string_view what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

}  // namespace

std::string BashCompletion() {
  std::string values, flags;
  for (const SettingField& field : SettingFields()) {
    if (field.words.empty()) continue;
    std::vector<std::string> patterns = {"__" + field.name};
    for (const std::string& alias : field.aliases) patterns.push_back("__" + alias);
    values += fmt::format("      {}) values=\"{}\" ;;\n", fmt::join(patterns, "|"),
                          fmt::join(field.words, " "));
  }
  std::vector<std::string> verbs;
  for (const Verb& verb : Verbs()) {
    if (verb.is_hidden) continue;
    verbs.push_back(verb.name);
    std::vector<std::string> words;
    for (const std::string& name : FlagsOfVerb(verb.name)) {
      words.push_back(CompletedFlag(name, verb.name));
    }
    flags += fmt::format("    {}) flags=\"{}\" ;;\n", verb.name, fmt::join(words, " "));
  }
  std::string script = Replace(std::string(kScript), "{values}", values);
  script = Replace(std::move(script), "{verbs}", fmt::format("{}", fmt::join(verbs, " ")));
  return Replace(std::move(script), "{flags}", flags);
}

}  // namespace rowhouse
