// Reports read back and set side by side, and the verb on top.
#include "launch/report/comparison.h"

#include <filesystem>
#include <fstream>

#include "common/durable_file.h"
#include "launch/report/report.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using OrderedJson = nlohmann::ordered_json;

class ComparisonTest : public testing::Test {
 protected:
  // As a training run writes it.
  static OrderedJson Report(double auc) {
    RunReport report;
    report.settings.Complete();
    report.evaluations = {{.step = 10, .samples = 5, .auc = 0.5, .logloss = 0.9},
                          {.step = 20, .samples = 5, .auc = auc, .logloss = 0.45}};
    report.totals.samples_per_second = 123456.0;
    report.totals.test_auc_ceiling = 0.8125;
    return ReportToJson(report);
  }

  static OrderedJson WithBytes(OrderedJson report, const std::string& label, uint64_t rows) {
    report["label"] = label;
    report["model_bytes"] = {{"rows", rows}, {"state", 0}, {"plain_rows", 4u << 20}};
    return report;
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = dir_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string WriteJson(const std::string& name, const OrderedJson& json) {
    return Write(name, json.dump());
  }

  std::vector<ComparedRun> Read(const std::vector<std::string>& paths) {
    const auto runs = ReadComparedRuns(paths);
    CHECK(runs.ok()) << runs.status().ToString();
    return runs.value();
  }

  // The sentence for a report that must be refused.
  std::string Refusal(const std::string& path) {
    const Status status = RunCompare({path}, dir_ / "x.html", "");
    EXPECT_EQ(status.exit_code(), 2) << status.ToString();
    EXPECT_FALSE(std::filesystem::exists(dir_ / "x.html"));
    return status.message();
  }
  std::string RefusalOf(OrderedJson report, const std::string& pointer, const OrderedJson& value) {
    report[OrderedJson::json_pointer(pointer)] = value;
    return Refusal(WriteJson("bad/report.json", report));
  }

  const TempDir dir_;
};

// ---- Reading ------------------------------------------------------------------------------------

TEST_F(ComparisonTest, ReadsWhatTrainingRunsWrite) {
  OrderedJson report = Report(0.79);
  const ComparedRun run = Read({WriteJson("runs/today/report.json", report)})[0];
  EXPECT_EQ(run.name, "today");
  EXPECT_EQ(run.samples_per_second, 123456.0);
  EXPECT_EQ(run.test_auc, 0.79) << "of the last evaluation";
  EXPECT_EQ(run.test_logloss, 0.45);
  EXPECT_EQ(run.test_auc_ceiling, 0.8125);
  EXPECT_EQ(run.rows_bytes, 72.0) << "DLRM's default tables: 4, 3 and 2 rows of 2 floats";
  EXPECT_EQ(run.OfPlain(), 1.0);
  report.erase("model_bytes");  // As before reports had them.
  report.erase("label");
  const ComparedRun old = Read({WriteJson("runs/yesterday/report.json", report)})[0];
  EXPECT_EQ(old.name, "yesterday");
  EXPECT_EQ(old.rows_bytes, std::nullopt);
  EXPECT_EQ(old.OfPlain(), std::nullopt);
}

TEST_F(ComparisonTest, ReadsLabelAndBytesWhereTheyAre) {
  const ComparedRun run =
      Read({WriteJson("runs/x/report.json", WithBytes(Report(0.79), "hashed", 1 << 20))})[0];
  EXPECT_EQ(run.name, "hashed");
  EXPECT_EQ(run.rows_bytes, 1048576.0);
  EXPECT_EQ(run.plain_rows_bytes, 4194304.0);
  EXPECT_EQ(run.OfPlain(), 0.25);
}

TEST_F(ComparisonTest, FiguresNobodyKnowsStayUnknown) {
  OrderedJson report = Report(0.79);
  report["evaluations"] = OrderedJson::array();
  report["totals"]["test_auc_ceiling"] = nullptr;
  report["model_bytes"] = {{"rows", 0}, {"plain_rows", 0}};
  const ComparedRun run = Read({WriteJson("a/report.json", report)})[0];
  EXPECT_EQ(run.test_auc, std::nullopt);
  EXPECT_EQ(run.test_logloss, std::nullopt);
  EXPECT_EQ(run.test_auc_ceiling, std::nullopt);
  EXPECT_EQ(run.OfPlain(), std::nullopt);
}

TEST_F(ComparisonTest, NamesComeFromDirectoriesAndFilesAndAreToldApart) {
  const std::string a = WriteJson("one/same/report.json", Report(0.7));
  const std::string b = WriteJson("two/same/report.json", Report(0.7));
  const std::string c = WriteJson("two/plain.json", Report(0.7));
  const auto runs = Read({a, b, c, dir_ / "two/same/../plain.json"});
  EXPECT_EQ(runs[0].name, "same (" + a + ")");
  EXPECT_EQ(runs[1].name, "same (" + b + ")");
  EXPECT_THAT(runs[2].name, StartsWith("plain ("));
  EXPECT_EQ(Read({c})[0].name, "plain");
}

TEST_F(ComparisonTest, WhatIsNoReportIsNamed) {
  EXPECT_THAT(Refusal(dir_ / "none.json"),
              AllOf(StartsWith("the report of a run: "), HasSubstr(dir_ / "none.json"),
                    HasSubstr("No such file")));
  EXPECT_THAT(Refusal(dir_.path()), HasSubstr(dir_.path()));
  const std::string path = Write("x.json", "{\"format\": 1,");
  EXPECT_EQ(Refusal(path), path + " is no JSON, so it is not the report of a run");
  for (const char* text : {"[]", "{}", "7", "{\"format\":1,\"totals\":[],\"evaluations\":[]}"}) {
    EXPECT_EQ(Refusal(Write("x.json", std::string(text))),
              path +
                  ": JSON, but no report of a training run (which has format, totals and "
                  "evaluations)");
  }
}

TEST_F(ComparisonTest, FiguresOfAnotherTypeAndOtherFormatsAreNamed) {
  const std::string path = dir_ / "bad/report.json: ";
  const OrderedJson report = WithBytes(Report(0.7), "x", 9);
  EXPECT_EQ(RefusalOf(report, "/format", 2),
            path + "a report of format 2; this build reads format 1");
  EXPECT_EQ(RefusalOf(report, "/totals/samples_per_second", "fast"),
            path + "totals.samples_per_second: expected a number or null, got \"fast\"");
  EXPECT_EQ(RefusalOf(report, "/evaluations/1/auc", true),
            path + "evaluations.auc: expected a number or null, got true");
  EXPECT_EQ(RefusalOf(report, "/evaluations/1", 3), path + "evaluations: expected objects, got 3");
  EXPECT_EQ(RefusalOf(report, "/evaluations/1/step", "x"),
            path + "evaluations: a point has no step that is a number");
  EXPECT_EQ(RefusalOf(report, "/curve", "x"), path + "curve: expected a list, got string");
  EXPECT_EQ(RefusalOf(report, "/model_bytes", 3), path + "model_bytes: expected an object, got 3");
  EXPECT_EQ(RefusalOf(report, "/model_bytes/rows", "9 MB"),
            path + "model_bytes.rows: expected a number or null, got \"9 MB\"");
}

// ---- Writing ------------------------------------------------------------------------------------

std::vector<ComparedRun> ThreeRuns() {
  return {{.path = "a/report.json",
           .name = "plain",
           .samples_per_second = 123456.7,
           .test_auc = 0.79,
           .test_logloss = 0.45,
           .rows_bytes = 4194304.0,
           .plain_rows_bytes = 4194304.0,
           .test_auc_ceiling = 0.8125},
          {.path = "b/report.json",
           .name = "hashed, 1/8 <é>",
           .samples_per_second = 2000.0,
           .test_auc = 0.78,
           .test_logloss = 0.46,
           .rows_bytes = 524288.0,
           .plain_rows_bytes = 4194304.0,
           .test_auc_ceiling = 0.8125},
          {.path = "c/report.json", .name = "no \"bytes\"", .test_auc = 0.77}};
}

TEST_F(ComparisonTest, TheTableIsAlignedForATerminal) {
  EXPECT_EQ(TableAsText(ComparisonTable(ThreeRuns())),
            "run              samples/s  test AUC  logloss      rows  of plain  ceiling\n"
            "plain              123,457    0.7900   0.4500  4.00 MiB    1.0000   0.8125\n"
            "hashed, 1/8 <é>      2,000    0.7800   0.4600   512 KiB    0.1250   0.8125\n"
            "no \"bytes\"               -    0.7700        -         -         -        -\n");
}

TEST_F(ComparisonTest, CsvHoldsEveryBitAndQuotesNames) {
  EXPECT_EQ(TableAsCsv(ComparisonTable(ThreeRuns())),
            "run,samples_per_second,test_auc,test_logloss,rows_bytes,of_plain,test_auc_ceiling,"
            "report\n"
            "plain,123456.7,0.79,0.45,4194304,1,0.8125,a/report.json\n"
            "\"hashed, 1/8 <é>\",2000,0.78,0.46,524288,0.125,0.8125,b/report.json\n"
            "\"no \"\"bytes\"\"\",,0.77,,,,,c/report.json\n");
}

// What the page's script reads.
OrderedJson DataOf(const std::string& page) {
  const std::string begin = "<script id=\"data\" type=\"application/json\">";
  const size_t at = page.find(begin) + begin.size();
  return OrderedJson::parse(page.substr(at, page.find("</script>", at) - at));
}

// A run that went on and tested nothing has the tests of the run before it in its curve.
TEST_F(ComparisonTest, TestsOfEarlierRunsAreNoResultsOfTheLast) {
  OrderedJson a = Report(0.79), b = Report(0.79);
  a["totals"]["first_step"] = 20;
  b["totals"]["first_step"] = 10;
  const auto runs = Read({WriteJson("a/report.json", a), WriteJson("b/report.json", b)});
  EXPECT_EQ(runs.at(0).test_auc, std::nullopt);
  EXPECT_EQ(runs.at(0).evaluations.size(), 2u);
  EXPECT_EQ(runs.at(1).test_auc, 0.79);
}

TEST_F(ComparisonTest, ThePageHoldsCurvesFiguresAndDifferences) {
  OrderedJson a = WithBytes(Report(0.79), "<a> </script>", 1 << 20), b = Report(0.78);
  a["curve"] = {{{"step", 10}, {"loss", 0.5}, {"samples_per_second", 9.0}},
                {{"step", 20}, {"loss", nullptr}}};
  b["settings"]["training"]["learning_rate"] = 0.5;
  const auto runs = Read({WriteJson("a/report.json", a), WriteJson("b/report.json", b)});
  const OrderedJson data = DataOf(ComparisonPage(runs));
  EXPECT_EQ(data["page"], "comparison");
  const OrderedJson& first = data["runs"][0];
  EXPECT_EQ(first["run"], "<a> </script>");
  EXPECT_EQ(first["curve"].dump(), "[[10.0,0.5,9.0],[20.0,null,null]]");
  EXPECT_EQ(first["evaluations"].dump(), "[[10.0,0.5,0.9],[20.0,0.79,0.45]]");
  EXPECT_EQ(first["of_plain"], 0.25);
  EXPECT_EQ(data["test_sets"], "");
  EXPECT_EQ(data["differences"].dump(),
            R"([{"name":"training.learning_rate","values":["0.01","0.5"]}])");
}

TEST_F(ComparisonTest, SettingsThatDifferAreListedAndNoOthers) {
  OrderedJson a = Report(0.79), b = Report(0.79);
  b["settings"]["output"]["model_dir"] = "elsewhere";
  b["settings"]["model"]["arch_mlp_bot"] = {4, 8, 2};
  b["tables"][1]["kind"] = "hashed";
  b["environment"]["workers"] = 7;
  const auto runs = Read({WriteJson("a/report.json", a), WriteJson("b/report.json", b)});
  EXPECT_THAT(
      ComparisonText(runs),
      HasSubstr(
          "\nmodel.arch_mlp_bot   4,3,2" + std::string(58, ' ') +
          "4,8,2\n"
          "table t1             dim 2, initialiser counter, kind plain, optimizer sgd, rows 3  "
          "dim 2, initialiser counter, kind hashed, optimizer sgd, rows 3\n"
          "environment.workers  0" +
          std::string(62, ' ') + "7\n"));
  std::vector<std::string> names;
  for (const SettingDifference& one : DifferencesOf({runs[0].settings, runs[1].settings})) {
    names.push_back(one.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"model.arch_mlp_bot", "table t1", "environment.workers"}));
  EXPECT_THAT(ComparisonText({runs[0], runs[0]}), HasSubstr("\nall settings are the same\n"));
  std::vector<ComparedRun> many = {runs[0], runs[0]};
  for (int i = 0; i < 60; ++i)
    many[0].settings.push_back({fmt::format("x{}", i), std::string(99, 'v')});
  EXPECT_THAT(ComparisonText(many),
              AllOf(HasSubstr("\nx0       " + std::string(80, 'v') + "... (99 bytes)  -"),
                    HasSubstr("\nand 10 more, which the page lists\n")));
}

TEST_F(ComparisonTest, TestSetsThatDifferAreNamed) {
  OrderedJson other = Report(0.79), untested = Report(0.79);
  other["evaluations"][1]["data_digest"] = "00000000000000ff";
  untested["evaluations"] = OrderedJson::array();
  const auto runs = Read({WriteJson("a/report.json", Report(0.7)),
                          WriteJson("b/report.json", other), WriteJson("c/report.json", untested)});
  const std::string text =
      "test sets differ, so AUC and logloss are not comparable: a on 5 samples of digest "
      "0000000000000000; b on 5 samples of digest 00000000000000ff";
  EXPECT_EQ(TestSetsText(runs), text);
  EXPECT_THAT(ComparisonText(runs), HasSubstr("\n" + text + "\n"));
  EXPECT_EQ(DataOf(ComparisonPage(runs))["test_sets"], text);
  EXPECT_EQ(TestSetsText({runs[0], runs[2], runs[0]}), "");
}

// ---- The verb -----------------------------------------------------------------------------------

TEST_F(ComparisonTest, TheVerbPrintsTheTableAndWritesBothFiles) {
  const std::string a = WriteJson("a/report.json", WithBytes(Report(0.79), "plain", 4 << 20));
  const std::string b = WriteJson("b/report.json", WithBytes(Report(0.78), "hashed", 1 << 20));
  std::filesystem::create_directory(dir_ / "out");
  testing::internal::CaptureStdout();
  const Status status = RunCompare({a, b}, dir_ / "out/x.html", dir_ / "out/x.csv");
  const std::string printed = testing::internal::GetCapturedStdout();
  ASSERT_OK(status);
  const auto runs = Read({a, b});
  EXPECT_EQ(printed, ComparisonText(runs));
  EXPECT_EQ(ReadFile(dir_ / "out/x.html").value(), ComparisonPage(runs));
  EXPECT_EQ(ReadFile(dir_ / "out/x.csv").value(), TableAsCsv(ComparisonTable(runs)));
}

TEST_F(ComparisonTest, TheVerbRefusesToGuessAndToReplaceAReport) {
  const std::string a = WriteJson("a/report.json", Report(0.79));
  const auto refusal = [](const Status& status) {
    EXPECT_EQ(status.exit_code(), 2);
    return status.message();
  };
  EXPECT_EQ(refusal(RunCompare({}, "x.html", "")),
            "no report named; say rowhouse compare REPORT.json [REPORT.json ...] --out=FILE.html");
  EXPECT_EQ(refusal(RunCompare({a}, "", "")), "--out is missing; say --out=FILE.html");
  EXPECT_EQ(refusal(RunCompare({a}, "x", "x")), "--out and --csv both name x; name two files");
  EXPECT_THAT(refusal(RunCompare({a}, "x.html", "", false, a)),
              StartsWith("--json=" + a + " would replace the report "));
  EXPECT_EQ(refusal(RunCompare({a}, dir_ / "x.html", dir_ / "a/../a/report.json")),
            "--csv=" + (dir_ / "a/../a/report.json") + " would replace the report " + a +
                "; name another file");
  EXPECT_EQ(Read({a})[0].test_auc, 0.79);
  testing::internal::CaptureStdout();
  const std::string message = refusal(RunCompare({a}, a + "/x.html", ""));
  testing::internal::GetCapturedStdout();
  EXPECT_THAT(message, StartsWith("--out: "));
}

}  // namespace
}  // namespace rowhouse
