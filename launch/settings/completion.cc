#include "launch/settings/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "launch/settings/verb_flags.h"

namespace rowhouse {
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
