// What --help and --version print.
#include <gflags/gflags.h>

#include "common/read_value.h"
#include "launch/settings/command_line.h"
#include "launch/settings/flags.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/verb_flags.h"

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

std::string DescribeFlag(const std::string& name, const std::string& expected) {
  gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  std::string value = info.default_value.empty() ? "none" : info.default_value;
  // gflags prints 17 digits: 0.90000000000000002.
  if (info.type == "double") value = fmt::format("{}", ReadReal(value).value());
  const std::string head = fmt::format("  --{} (default: {})\n", name, value);
  std::string text = info.description + ".";
  if (!expected.empty()) text += " Takes " + expected + ".";
  return head + Wrap(text);
}

}  // namespace

const std::vector<Verb>& Verbs() {
  static const std::vector<Verb> verbs = {
      {"train",
       "trains a model: under mpirun some ranks are PS nodes, the others workers; "
       "without it, one of each"},
      {"ps", "a PS node of its own, which workers find by --ps_endpoints"},
      {"bench",
       "measures this machine's limits and the system beside them; without a NAME lists what "
       "there is to measure",
       "[NAME ... | all]"},
      {"ckpt",
       "looks into the saved model of --model_dir: a row, what its tables and shards take; "
       "compacts its rows",
       "inspect TABLE ID | stats | compact"},
      {"compare", "prints the runs whose reports are named side by side, and writes a page of them",
       "REPORT.json ..."},
      {"plan",
       "which shards own which rows (--strategy, --out); --count_ids: how often rows are looked "
       "up; "
       "--sizes: bytes of tables, largest vocabularies; --embeddings_per_feat: what "
       "LoadBalanceManager deals; starts nothing"},
  };
  return verbs;
}

std::string HelpText(const std::string& verb) {
  if (verb.empty()) {
    std::string text =
        "rowhouse: a distributed parameter server that trains DLRM models whose embedding tables\n"
        "are larger than one host's memory\n\nusage: rowhouse VERB [--flag=value ...]\n\n";
    for (const Verb& known : Verbs()) text += fmt::format("  {:8} {}\n", known.name, known.what);
    return text + "\nrowhouse VERB --help lists the flags of a verb; rowhouse --version.\n";
  }
  std::string text;
  for (const Verb& known : Verbs()) {
    if (known.name != verb) continue;
    text = fmt::format("rowhouse {}: {}\n\nusage: rowhouse {} [--flag=value ...]{}{}\n", verb,
                       known.what, verb, known.arguments.empty() ? "" : " ", known.arguments);
  }
  text +=
      "  --flagfile=FILE reads flags from a file, one a line. A switch is turned on by --name\n"
      "  and off by --noname. - may stand for _ in names.\n\n";
  std::vector<std::string_view> flags = {kConfigFlag, kPrintConfigFlag, kJsonFlag, kTraceFlag,
                                         kLongFlag,   kOutFlag,         kCsvFlag,  kStrategiesFlag};
  flags.insert(flags.end(), kPlanFlags.begin(), kPlanFlags.end());
  for (const std::string_view flag : flags) {
    if (VerbHasFlag(verb, flag)) text += DescribeFlag(std::string(flag), "");
  }
  Section section{};
  bool is_first = true;
  for (const SettingField& field : SettingFields()) {
    if (!VerbHasFlag(verb, field.name)) continue;
    if (is_first || field.section != section) {
      text += fmt::format("\n{}:\n", SectionName(field.section));
    }
    is_first = false;
    section = field.section;
    text += DescribeFlag(field.name, field.expected);
  }
  text += "\nlog (glog):\n";
  for (const std::string& name : LogFlags()) text += DescribeFlag(name, "");
  return text;
}

}  // namespace rowhouse
