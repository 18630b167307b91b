#include "launch/command_line/command_line.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "common/durable_file.h"
#include "common/nearest_name.h"
#include "common/read_value.h"
#include "launch/command_line/foreign_flags.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {
namespace {

constexpr int kDeepestFlagFile = 8;  // A file that names itself must end somewhere.

// An argument and where it stands.
struct TypedWord {
  std::string text;
  std::string origin;
};

std::string InBrackets(const std::string& origin) {
  return origin.empty() ? "" : fmt::format(" ({})", origin);
}

// "--mini-batch-size=4" -> name "mini_batch_size", value "4".
struct FlagWord {
  std::string name;
  std::optional<std::string> value;
};

// Requires a word that begins with a dash.
FlagWord SplitFlag(std::string_view word) {
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  FlagWord flag;
  const size_t equals = word.find('=');
  flag.name = word.substr(0, equals);
  std::replace(flag.name.begin(), flag.name.end(), '-', '_');
  if (equals != std::string_view::npos) flag.value = word.substr(equals + 1);
  return flag;
}

bool LooksLikeFlag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && (word[1] == '-' || std::isalpha(word[1]));
}

class Parser {
 public:
  Status Parse(std::vector<TypedWord> words) {
    size_t next = 0;
    if (!words.empty() && !LooksLikeFlag(words[0].text)) {
      result_.verb = words[next++].text;
      if (result_.verb == "help") return TakeHelpVerb(words);
      RETURN_IF_ERROR(CheckVerb());
    }
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(next));
    RETURN_IF_ERROR(TakeWords(words, 0));
    if (result_.wants_help || result_.wants_version) return OkStatus();
    RETURN_IF_ERROR(TakeInferenceOnly());
    RETURN_IF_ERROR(CheckRefused());
    if (result_.verb.empty()) {
      return UsageError("no verb given (known: {}); rowhouse --help says what they do",
                        fmt::join(VerbNames(), ", "));
    }
    if (!result_.arguments.empty() && FindVerb(result_.verb)->arguments.empty()) {
      return UsageError(
          "unexpected argument \"{}\"; rowhouse {} takes flags only, and a flag "
          "begins with --",
          result_.arguments.front(), result_.verb);
    }
    return OkStatus();
  }

  CommandLine Take() { return std::move(result_); }

 private:
  static std::vector<std::string> VerbNames() {
    std::vector<std::string> names;
    for (const Verb& verb : Verbs()) {
      if (!verb.is_hidden) names.push_back(verb.name);
    }
    return names;
  }

  Status CheckVerb() const {
    if (FindVerb(result_.verb) != nullptr) return OkStatus();
    return UsageError("unknown verb \"{}\" {}", result_.verb,
                      DescribeKnownNames(result_.verb, VerbNames()));
  }

  Status TakeHelpVerb(const std::vector<TypedWord>& words) {
    result_.wants_help = true;
    result_.verb = words.size() > 1 ? words[1].text : "";
    return result_.verb.empty() ? OkStatus() : CheckVerb();
  }

  Status TakeWords(const std::vector<TypedWord>& words, int depth) {
    for (size_t i = 0; i < words.size(); ++i) {
      const TypedWord& word = words[i];
      if (word.text == "--") {
        for (++i; i < words.size(); ++i) result_.arguments.push_back(words[i].text);
        return OkStatus();
      }
      if (!LooksLikeFlag(word.text)) {
        result_.arguments.push_back(word.text);
        continue;
      }
      FlagWord flag = SplitFlag(word.text);
      if (flag.name == "help" || flag.name == "h") {
        RETURN_IF_ERROR(TakeHelp(flag));
        continue;
      }
      if (flag.name == "version") {
        result_.wants_version = true;
        continue;
      }
      RETURN_IF_ERROR(TakeNegation(word, &flag));
      if (flag.name != "flagfile" && !IsKnownFlag(flag.name)) return UnknownFlag(flag, word);
      if (!flag.value) {
        const TypedWord* const next = i + 1 < words.size() ? &words[i + 1] : nullptr;
        bool takes_next = false;
        RETURN_IF_ERROR(TakeValue(word, next, &flag, &takes_next));
        if (takes_next) ++i;
      }
      if (flag.name == "flagfile") {
        RETURN_IF_ERROR(TakeFlagFile(*flag.value, word.origin, depth));
      } else {
        RETURN_IF_ERROR(TakeFlag({flag.name, *flag.value, word.origin}));
      }
    }
    return OkStatus();
  }

  Status TakeHelp(const FlagWord& flag) {
    result_.wants_help = true;
    const std::string page = flag.value.value_or("");
    if (page == "all") result_.help_page = HelpPage::kAll;
    if (page.empty() || page == "all" || page == "basic") return OkStatus();
    const std::vector<std::string> topics = PlanTopics();
    if (result_.verb == "plan" && std::ranges::count(topics, page) > 0) {
      result_.help_topic = page;
      return OkStatus();
    }
    return UsageError("--help={}: expected basic, all{} or no value", page,
                      result_.verb == "plan" ? fmt::format(", {}", fmt::join(topics, ", ")) : "");
  }

  // "--noload" becomes load=false.
  Status TakeNegation(const TypedWord& word, FlagWord* flag) const {
    const std::string name = flag->name.starts_with("no") ? flag->name.substr(2) : "";
    if (name.empty() || IsKnownFlag(flag->name) || !IsKnownFlag(name) ||
        !IsSwitch(name, result_.verb)) {
      return OkStatus();
    }
    if (flag->value) {
      return UsageError("{}{}: a switch that is turned off takes no value; say --{}={}", word.text,
                        InBrackets(word.origin), name, *flag->value);
    }
    *flag = {.name = name, .value = "false"};
    return OkStatus();
  }

  // The value of a flag without an equals sign: that of a switch, or the next word (null: none).
  Status TakeValue(const TypedWord& word, const TypedWord* next, FlagWord* flag,
                   bool* takes_next) const {
    const VerbFlag* const own = FindVerbFlag(flag->name, result_.verb);
    if (own != nullptr && own->has_optional_value) {
      flag->value = kJsonToStdout;
      return OkStatus();
    }
    const bool is_switch = IsSwitch(flag->name, result_.verb);
    // DLRM's scripts write "--round-targets True".
    *takes_next = next != nullptr &&
                  (is_switch ? !LooksLikeFlag(next->text) && ReadBool(next->text).has_value()
                             : !next->text.starts_with("--"));
    if (*takes_next) {
      flag->value = next->text;
    } else if (is_switch) {
      flag->value = "true";
    } else {
      return UsageError("--{}{} needs a value: --{}=VALUE", flag->name, InBrackets(word.origin),
                        flag->name);
    }
    return OkStatus();
  }

  Status TakeFlagFile(const std::string& path, const std::string& origin, int depth) {
    const std::string given = fmt::format("--flagfile={}{}", path, InBrackets(origin));
    if (depth == kDeepestFlagFile) {
      return UsageError("{}: flag files name each other more than {} deep", given,
                        kDeepestFlagFile);
    }
    const Result<std::string> text = ReadFile(path);
    if (!text.ok()) return UsageError("{}: {}", given, text.status().message());
    std::istringstream in(text.value());
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      RETURN_IF_ERROR(TakeFlagFileLine(line, fmt::format("{}:{}", path, number), depth + 1));
    }
    return OkStatus();
  }

  // One flag, with or without dashes; its value may hold blanks.
  Status TakeFlagFileLine(const std::string& line, const std::string& origin, int depth) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') return OkStatus();
    const size_t end = line.find_last_not_of(" \t\r");
    std::string text = line.substr(begin, end - begin + 1);
    if (!LooksLikeFlag(text)) {
      return UsageError("{}: \"{}\" is no flag; a line of a flag file is --NAME=VALUE or # comment",
                        origin, text);
    }
    // "--name value" on a line of its own is two words.
    const size_t blank = text.find_first_of(" \t");
    const size_t equals = text.find('=');
    if (blank == std::string::npos || equals < blank) {
      return TakeWords({{text, origin}}, depth);
    }
    const size_t value = text.find_first_not_of(" \t", blank);
    return TakeWords({{text.substr(0, blank), origin}, {text.substr(value), origin}}, depth);
  }

  Status UnknownFlag(const FlagWord& flag, const TypedWord& word) const {
    const std::string nearest = NearestName(flag.name, FlagsOfVerb(result_.verb));
    const std::string given =
        fmt::format("unknown flag --{}{}", flag.name, InBrackets(word.origin));
    if (!nearest.empty()) return UsageError("{}. Did you mean --{}?", given, nearest);
    return UsageError("{}; rowhouse {}--help lists the flags", given,
                      result_.verb.empty() ? "" : result_.verb + " ");
  }

  Status TakeFlag(GivenFlag flag) {
    if (const DlrmFlag* dlrms = FindDlrmFlag(flag.name)) return TakeDlrmFlag(*dlrms, flag);
    const SettingField* field = FindSettingField(flag.name);
    if (field != nullptr) {
      if (flag.name != field->name) flag.as = flag.name;
      flag.name = field->name;
      RETURN_IF_ERROR(CheckOneName(flag));
    }
    if (!result_.verb.empty() && !VerbHasFlag(result_.verb, flag.name)) {
      return UsageError("{} is no flag of rowhouse {}; it belongs to {}", flag.Describe(),
                        result_.verb, DescribeVerbsOfFlag(flag.name));
    }
    if (field != nullptr) {
      Settings scratch;
      const Status status = field->set(flag.value, scratch);
      if (!status.ok()) return status.Annotate(flag.Describe());
    }
    if (IsSwitch(flag.name, result_.verb)) {
      const auto value = ReadBool(flag.value);
      if (!value) {
        return UsageError("{}: expected true, false or no value", flag.Describe());
      }
      flag.value = *value ? "true" : "false";
    }
    if (IsLogFlag(flag.name) &&
        gflags::SetCommandLineOption(flag.name.c_str(), flag.value.c_str()).empty()) {
      gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(flag.name.c_str());
      return UsageError("{}: expected a value of type {}", flag.Describe(), info.type);
    }
    result_.flags.push_back(std::move(flag));
    return OkStatus();
  }

  // A setting that is given by two of its names is a mistake: which one counts is not clear.
  Status CheckOneName(const GivenFlag& flag) const {
    for (const GivenFlag& other : result_.flags) {
      if (other.name != flag.name || other.as == flag.as) continue;
      return UsageError(
          "{} and {} are two names of one setting; give only one of them, or the same name twice, "
          "of which the last counts",
          other.Describe(), flag.Describe());
    }
    return OkStatus();
  }

  static bool IsHarmless(const DlrmFlag& flag, const std::string& value) {
    const std::string harmless(flag.harmless);
    if (value == harmless) return true;
    if (flag.is_switch())
      return ReadBool(value).has_value() && ReadBool(value) == ReadBool(harmless);
    return ReadReal(value).has_value() && ReadReal(value) == ReadReal(harmless);
  }

  Status TakeDlrmFlag(const DlrmFlag& flag, const GivenFlag& given) {
    if (!result_.verb.empty() && result_.verb != "train" && result_.verb != "plan") {
      return UsageError(
          "{} is no flag of rowhouse {}; it is a flag of DLRM, which only train and "
          "plan take",
          given.Describe(), result_.verb);
    }
    if (flag.name == kInferenceOnlyFlag) {
      const std::optional<bool> value = ReadBool(given.value);
      if (!value) return UsageError("{}: expected true, false or no value", given.Describe());
      is_inference_only_ = *value;
      return OkStatus();
    }
    if (!flag.of_eval.empty()) {
      of_eval_[&flag] = given;
      return OkStatus();
    }
    if (IsHarmless(flag, given.value)) return OkStatus();
    if (!flag.why_refused.empty()) {
      refused_.push_back({given.Describe(), std::string(flag.why_refused)});
      return OkStatus();
    }
    std::vector<std::string>& ignored = result_.ignored;
    if (std::find(ignored.begin(), ignored.end(), flag.dlrms_name()) == ignored.end()) {
      ignored.push_back(flag.dlrms_name());
    }
    return OkStatus();
  }

  // DLRM's --inference-only is rowhouse eval; what it alone takes is refused without it.
  Status TakeInferenceOnly() {
    if (is_inference_only_ && result_.verb != "train") {
      return UsageError("--inference_only=true is no flag of rowhouse {}", result_.verb);
    }
    for (const auto& [flag, given] : of_eval_) {
      if (IsHarmless(*flag, given.value)) continue;
      if (!is_inference_only_) {
        refused_.push_back({given.Describe(), std::string(flag->why_refused)});
        continue;
      }
      for (const std::string_view kind : {"qr_flag", "md_flag"}) {
        if (flag->of_eval != kQuantizeRowsFlag || result_.Value(kind) != "true") continue;
        return UsageError(
            "{} with --{}: DLRM does not quantise such tables; rowhouse eval --{}={} scores any "
            "kind of a saved model so",
            given.Describe(), kind, flag->of_eval, given.value);
      }
      result_.flags.push_back({std::string(flag->of_eval), given.value, given.origin, given.name});
    }
    if (!is_inference_only_) return OkStatus();
    result_.verb = "eval";
    std::erase_if(result_.flags,
                  [&](const GivenFlag& flag) { return !VerbHasFlag(result_.verb, flag.name); });
    return OkStatus();
  }

  // All of them at once: who brings a script along wants to mend it once.
  Status CheckRefused() const {
    if (refused_.empty()) return OkStatus();
    if (refused_.size() == 1) {
      return UsageError("{} is DLRM's and not supported: {}", refused_[0].given, refused_[0].why);
    }
    std::string text = fmt::format("{} flags are DLRM's and not supported:", refused_.size());
    for (const Refused& refused : refused_) {
      text += fmt::format("\n  {}: {}", refused.given, refused.why);
    }
    return UsageError("{}", text);
  }

  struct Refused {
    std::string given, why;
  };

  CommandLine result_;
  // Flags of DLRM.
  std::vector<Refused> refused_;
  bool is_inference_only_ = false;
  std::map<const DlrmFlag*, GivenFlag> of_eval_;  // in DLRM's order; the last value counts
};

}  // namespace

std::string GivenFlag::Describe() const {
  return fmt::format("--{}={}{}", as.empty() ? name : as, value, InBrackets(origin));
}

const GivenFlag* CommandLine::Given(std::string_view flag) const {
  const auto last = std::find_if(flags.rbegin(), flags.rend(),
                                 [&](const GivenFlag& given) { return given.name == flag; });
  return last == flags.rend() ? nullptr : &*last;
}

std::string CommandLine::Value(std::string_view flag, const std::string& fallback) const {
  const GivenFlag* const given = Given(flag);
  return given == nullptr ? fallback : given->value;
}

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  SetLogDefaults();
  std::vector<TypedWord> words;
  for (int i = 1; i < argc; ++i) words.push_back({argv[i], ""});
  Parser parser;
  RETURN_IF_ERROR(parser.Parse(std::move(words)));
  return parser.Take();
}

}  // namespace rowhouse
