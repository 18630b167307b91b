// The walk over a trace: a small one whose sum is worked by hand in the file, newer and our own
// forms, and traces that are none.
#include "sharding/lab/gpu/op_trace.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string Vector(const std::string& name) {
  std::ifstream file(std::string(ROWHOUSE_TEST_VECTORS) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<OpTracePrediction> Predict(const std::string& text, OpRuleOptions options = {}) {
  options.gpu = FindGpuModel("V100");
  ASSIGN_OR_RETURN(const TraceEvents trace, ReadTraceEvents(text, "t.json"));
  return PredictOpTrace(trace, options);
}

OpTracePrediction PredictSmall(OpRuleOptions options = {}) {
  const auto products =
      MeasuredProducts::FromCsv(Vector("op_trace_small.csv"), "op_trace_small.csv", "volta");
  EXPECT_OK(products);
  options.products = &products.value();
  const auto prediction = Predict(Vector("op_trace_small.json"), options);
  EXPECT_OK(prediction);
  return prediction.value();
}

double UsOf(const OpTracePrediction& prediction, const std::string& name) {
  for (const auto& op : prediction.ops) {
    if (op.name == name) return op.cost.us;
  }
  return -1;
}

TEST(OpTraceTest, SumIsTheOneWorkedByHand) {
  const OpTracePrediction sum = PredictSmall();
  EXPECT_EQ(sum.window.iterations, 2u);
  EXPECT_EQ(sum.window.what, "two iterations from the last tenth");
  EXPECT_NEAR(sum.us_per_iteration(), 39.764470, 1e-6);
  EXPECT_NEAR(UsOf(sum, "LookupFunction"), 296960 / 809e3, 1e-12);
  EXPECT_NEAR(UsOf(sum, "LookupFunctionBackward"), 1130496 / 809e3, 1e-12);
  EXPECT_EQ(UsOf(sum, "AddmmBackward"), 13);
  ASSERT_EQ(sum.no_rule.size(), 1u);
  EXPECT_EQ(sum.no_rule[0].name, "aten::relu");
  EXPECT_EQ(sum.no_rule[0].count, 2u);
}

TEST(OpTraceTest, SumOfTheOriginalFormIsTheOneWorkedByHand) {
  const OpTracePrediction sum = PredictSmall({.form = GpuForm::kOriginal});
  EXPECT_NEAR(sum.us_per_iteration(), 30.556786, 1e-6);
  EXPECT_NEAR(UsOf(sum, "LookupFunctionBackward"), 2580480 / 809e3, 1e-12);
}

TEST(OpTraceTest, BagLengthThatIsGivenWins) {
  const OpTracePrediction sum = PredictSmall({.bag_length = 38});
  // A bag: 64 + 2 * 38 * 128 + 32 * 38 + 2 * 38 * 128 bytes, 256 bags.
  EXPECT_NEAR(UsOf(sum, "LookupFunctionBackward"), 256 * 20736 / 809e3, 1e-12);
}

TEST(OpTraceTest, AListOfEventsIsATraceToo) {
  const json trace = json::parse(Vector("op_trace_small.json"));
  const auto sum = Predict(trace["traceEvents"].dump());
  ASSERT_OK(sum);
  EXPECT_EQ(sum.value().window.iterations, 2u);
}

json Event(const std::string& name, double start, double duration, json args = json::object()) {
  return {{"ph", "X"}, {"cat", "cpu_op"}, {"name", name},    {"pid", 1},
          {"tid", 1},  {"ts", start},     {"dur", duration}, {"args", std::move(args)}};
}
json Dims(json shapes);

TEST(OpTraceTest, OperatorsThatAreNestedTooDeepAreRefused) {
  json events = json::array({Event("ProfilerStep#1", 0, 100000)});
  for (int i = 1; i < 20000; ++i) events.push_back(Event("aten::relu", i, 90000 - 2 * i));
  EXPECT_THAT(Predict(json{{"traceEvents", events}}.dump()).status().message(),
              testing::HasSubstr("is nested in more than 512 others"));
}

json Dims(json shapes) { return {{"Input Dims", std::move(shapes)}}; }

TEST(OpTraceTest, NewerTracesTellSizesByRecordedShapes) {
  const json events = {
      Event("ProfilerStep#4", 0, 100),
      Event("aten::linear", 1, 5, Dims({{128, 32}, {64, 32}, {64}})),
      Event("aten::addmm", 2, 3, Dims({{64}, {128, 32}, {32, 64}, json::array()})),
      Event("LookupFunction", 10, 5, Dims({{2000, 32}, {2}, {2048}, {257}})),
      Event("aten::embedding_bag", 20, 5, Dims({{5000, 32}, {256}, {128}})),
      Event("autograd::engine::evaluate_function: BmmBackward0", 30, 5),
      Event("BmmBackward0", 31, 3),
      Event("aten::bmm", 32, 1, Dims({{16, 4, 8}, {16, 8, 4}})),
      Event("LookupFunctionBackward", 40, 5),
  };
  const auto sum = Predict(json{{"traceEvents", events}}.dump());
  ASSERT_OK(sum);
  EXPECT_EQ(sum.value().window.iterations, 1u);
  const GpuModel& gpu = *FindGpuModel("V100");
  EXPECT_EQ(UsOf(sum.value(), "aten::addmm"), RooflineUs(gpu, {1, 128, 64, 32}));
  EXPECT_EQ(UsOf(sum.value(), "BmmBackward0"), RooflineUs(gpu, {16, 4, 4, 8}));
  GpuLookup lookup = {.samples = 128, .rows = 1000, .tables = 2, .bag_length = 8, .dim = 32};
  lookup.rows_per_block = 128;
  EXPECT_EQ(UsOf(sum.value(), "LookupFunction"), LookupForwardOn(gpu, lookup).value().us);
  lookup = {.samples = 128, .rows = 5000, .bag_length = 2, .dim = 32, .rows_per_block = 128};
  EXPECT_EQ(UsOf(sum.value(), "aten::embedding_bag"), LookupForwardOn(gpu, lookup).value().us);
  // The backward belongs to the last forward.
  EXPECT_EQ(UsOf(sum.value(), "LookupFunctionBackward"), LookupBackwardSgdUs(gpu, lookup));
}

std::vector<std::string> OpsOf(const OpTracePrediction& prediction) {
  std::vector<std::string> ops;
  for (const auto& op : prediction.ops) {
    ops.push_back(fmt::format("{} {}: {}", op.count, op.name, op.cost.sizes));
  }
  return ops;
}

// Bags of 4 of 1,000 rows, single ids of 50 rows, layers 13 x 16 and 19 x 1, 32 samples. The
// gradient of a Linear's input is a product of its own, but the first layer has none.
TEST(OpTraceTest, ATraceThatPyTorchRecordedHasTheModelsSizes) {
  const auto sum = Predict(Vector("torch_1_13_trace.json"));
  ASSERT_OK(sum);
  EXPECT_EQ(sum.value().window.iterations, 2u);
  std::vector<std::string> ops = OpsOf(sum.value());
  std::erase_if(ops, [](const std::string& op) { return op.find("copy_") != std::string::npos; });
  EXPECT_THAT(ops, UnorderedElementsAre(
                       "2 aten::addmm: 1 x 32 x 16 x 13", "2 aten::addmm: 1 x 32 x 1 x 19",
                       "2 AddmmBackward0: 1 x 32 x 19 x 1, 1 x 1 x 19 x 32",
                       "2 AddmmBackward0: 1 x 16 x 13 x 32", "2 aten::bmm: 32 x 3 x 3 x 16",
                       "2 BmmBackward0: 32 x 16 x 3 x 3, 32 x 3 x 16 x 3",
                       "2 aten::embedding_bag: 32 bags of 4 in 1 table of 1000 x 16",
                       "2 aten::embedding: 32 bags of 1 in 1 table of 50 x 16",
                       "2 EmbeddingBagBackward0: 32 bags of 4 in 1 table of 1000 x 16",
                       "2 EmbeddingBackward0: 32 bags of 1 in 1 table of 50 x 16"));
  const GpuLookup lookup = {
      .samples = 32, .rows = 1000, .bag_length = 4, .dim = 16, .rows_per_block = 256};
  EXPECT_EQ(UsOf(sum.value(), "EmbeddingBagBackward0"),
            LookupBackwardSgdUs(*FindGpuModel("V100"), lookup));
}

TEST(OpTraceTest, TimesRoundedToWholeMicrosecondsStillNest) {
  const auto sum = Predict(json(json::array({
                                    Event("AddmmBackward0", 0, 4),
                                    Event("aten::mm", 1, 4, Dims({{8, 4}, {4, 2}})),
                                    Event("aten::mm", 6, 4, Dims({{8, 4}, {4, 2}})),
                                }))
                               .dump());
  ASSERT_OK(sum);
  EXPECT_THAT(OpsOf(sum.value()),
              UnorderedElementsAre("1 AddmmBackward0: 1 x 8 x 2 x 4", "1 aten::mm: 1 x 8 x 2 x 4"));
}

TEST(OpTraceTest, ATableWithoutIdsInTheBatchIsNoError) {
  const auto sum = Predict(
      json(json::array({Event("aten::embedding_bag", 0, 1, Dims({{50, 16}, {0}, {32}}))})).dump());
  ASSERT_OK(sum);
  EXPECT_THAT(OpsOf(sum.value()),
              ElementsAre("1 aten::embedding_bag: 32 bags of 1 in 1 table of 50 x 16"));
}

TEST(OpTraceTest, OurOwnProfileIsATrace) {
  const auto phase = [](const std::string& name, int pid, int step, json args) {
    json event = Event(name, 10 * step, 5, std::move(args));
    event["cat"] = "phase";
    event["pid"] = pid;
    event["args"]["step"] = step;
    return event;
  };
  json events = json::array();
  for (int step = 7; step < 9; ++step) {
    for (int pid = 1; pid < 3; ++pid) {  // two workers
      events.push_back(phase("mlp/top_l.2 forward", pid, step,
                             {{"samples", 2048}, {"inputs", 512}, {"outputs", 256}}));
      events.push_back(phase("mlp/top_l.2 backward", pid, step,
                             {{"samples", 2048}, {"inputs", 512}, {"outputs", 256}}));
      events.push_back(
          phase("pool/user", pid, step,
                {{"samples", 2048}, {"lookups", 4096}, {"table_rows", 1e6}, {"dim", 64}}));
      events.push_back(phase("merge", pid, step, json::object()));
    }
  }
  events.push_back(phase("between steps", 1, 9, json::object()));
  const auto sum =
      Predict(json{{"traceEvents", events}, {"otherData", {{"rowhouse_profile", 1}}}}.dump());
  ASSERT_OK(sum);
  EXPECT_EQ(sum.value().window.iterations, 2u);
  const GpuModel& gpu = *FindGpuModel("V100");
  const double forward = RooflineUs(gpu, {1, 2048, 256, 512});
  const double backward =
      RooflineUs(gpu, {1, 256, 512, 2048}) + RooflineUs(gpu, {1, 2048, 512, 256});
  const GpuLookup lookup = {
      .samples = 2048, .rows = 1000000, .bag_length = 2, .dim = 64, .rows_per_block = 64};
  EXPECT_NEAR(sum.value().us_per_iteration(),
              forward + backward + LookupForwardOn(gpu, lookup).value().us, 1e-9);
  ASSERT_EQ(sum.value().no_rule.size(), 2u);
  EXPECT_EQ(sum.value().no_rule[0].name, "merge");
}

TEST(OpTraceTest, CopiesGoByTheBandwidthOfCopies) {
  const auto sum = Predict(
      json(json::array({Event("aten::copy_", 0, 1, Dims({{1 << 20, 8}, {1 << 20, 8}}))})).dump());
  ASSERT_OK(sum);
  const GpuModel& gpu = *FindGpuModel("V100");
  EXPECT_EQ(UsOf(sum.value(), "aten::copy_"), DataMovementUs(gpu.dram, 32 << 20));
}

TEST(OpTraceTest, CollectivesGoByTheirLinks) {
  const double bytes = 4e6;
  json all_to_all = Event("nccl:all_to_all", 0, 1, Dims({{1000, 1000}}));
  all_to_all["cat"] = "user_annotation";
  all_to_all["args"]["Group size"] = 4;
  json all_reduce = Event("nccl:all_reduce", 5, 1, Dims({{1000, 1000}}));
  all_reduce["args"]["Group size"] = 4;
  const std::string trace = json(json::array({all_to_all, all_reduce})).dump();
  const auto sum = Predict(trace, {.link_gbs = 10});
  ASSERT_OK(sum);
  // 10 GB/s are 10,000 bytes a microsecond. Three of four parts go to others; an allreduce sends
  // them twice.
  EXPECT_NEAR(UsOf(sum.value(), "nccl:all_to_all"), 0.75 * bytes / 1e4, 1e-9);
  EXPECT_NEAR(UsOf(sum.value(), "nccl:all_reduce"), 1.5 * bytes / 1e4, 1e-9);
  const auto of_two = Predict(trace, {.link_gbs = 10, .gpus = 2});
  EXPECT_NEAR(UsOf(of_two.value(), "nccl:all_to_all"), 0.5 * bytes / 1e4, 1e-9);
  const auto without_link = Predict(trace);
  ASSERT_OK(without_link);
  EXPECT_EQ(without_link.value().no_rule.size(), 2u);
}

TEST(OpTraceTest, AWindowWithoutAnyRuleIsWarnedOf) {
  const auto sum = Predict(json(json::array({Event("aten::relu", 0, 1)})).dump());
  ASSERT_OK(sum);
  EXPECT_THAT(sum.value().Warning(), HasSubstr("no operator of the window has a rule"));
  EXPECT_EQ(PredictSmall().Warning(), "");
}

TEST(OpTraceTest, WithoutMarksTheWholeTraceCountsOnce) {
  const auto sum = Predict(json(json::array({Event("aten::mm", 0, 1, Dims({{8, 4}, {4, 2}})),
                                             Event("aten::mm", 5, 1, Dims({{8, 4}, {4, 2}}))}))
                               .dump());
  ASSERT_OK(sum);
  EXPECT_EQ(sum.value().window.iterations, 1u);
  ASSERT_EQ(sum.value().ops.size(), 1u);
  EXPECT_EQ(sum.value().ops[0].count, 2u);
}

TEST(OpTraceTest, AShortTraceGivesItsLastTwoIterations) {
  json events = json::array();
  for (int step = 0; step < 4; ++step) {
    events.push_back(Event("ProfilerStep#" + std::to_string(step), 100 * step, 90));
    events.push_back(Event("aten::mm", 100 * step + 10, 5, Dims({{8 << step, 4}, {4, 2}})));
  }
  const auto sum = Predict(events.dump());
  ASSERT_OK(sum);
  EXPECT_EQ(sum.value().window.iterations, 2u);
  ASSERT_EQ(sum.value().ops.size(), 2u);
  EXPECT_EQ(sum.value().ops[0].cost.sizes, "1 x 64 x 2 x 4");
  EXPECT_EQ(sum.value().ops[1].cost.sizes, "1 x 32 x 2 x 4");
}

TEST(OpTraceTest, WhatIsNoTraceIsRefusedWithItsPlace) {
  const auto message = [](const std::string& text) {
    const auto sum = Predict(text);
    EXPECT_EQ(sum.status().code(), StatusCode::kUsage);
    return sum.status().message();
  };
  EXPECT_THAT(message(" \n"), HasSubstr("t.json: empty"));
  EXPECT_THAT(message("[{\"name\":\n \"x\""), HasSubstr("t.json:2:5: no JSON: the file ends here"));
  EXPECT_THAT(message("[1,\n  oops]"), HasSubstr("t.json:2:3: no JSON"));
  EXPECT_THAT(message("{\"x\": 1}"), HasSubstr("t.json: no trace"));
  EXPECT_THAT(message("[]"), HasSubstr("none of its 0 events is an operator"));
  EXPECT_THAT(message("[7]"), HasSubstr("event 1 is no object"));
  EXPECT_THAT(message("[{\"ph\": \"X\", \"name\": \"a\", \"dur\": 1}]"),
              HasSubstr("event 1: expected a name, ts and dur"));
  EXPECT_THAT(message(std::string(100, '[') + std::string(100, ']')), HasSubstr("nested deeper"));
}

TEST(OpTraceTest, ShapesThatAreMissingOrImpossibleAreRefusedWithTheirEvent) {
  const auto message = [](const std::string& name, const json& args) {
    const auto sum = Predict(json(json::array({Event(name, 3, 1, args)})).dump());
    EXPECT_EQ(sum.status().code(), StatusCode::kUsage);
    return sum.status().message();
  };
  EXPECT_THAT(message("aten::addmm", json::object()),
              HasSubstr("t.json: event 1 (aten::addmm at 3 us): its \"Input Dims\" are missing; "
                        "record the trace with record_shapes=True, by a PyTorch that has "
                        "Kineto (torch.profiler.kineto_available())"));
  EXPECT_THAT(
      message("aten::bmm", Dims({{16, 4, 8}, {15, 8, 4}})),
      HasSubstr("shapes [[16, 4, 8], [15, 8, 4]], expected [batch x M x K, batch x K x N]"));
  EXPECT_THAT(message("aten::mm", Dims({{0, 4}, {4, 2}})), HasSubstr("expected [M x K, K x N]"));
  EXPECT_THAT(message("LookupFunction", Dims({{2000, 32}, {2}})), HasSubstr("bags + 1"));
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(message("aten::mm", Dims({{huge, 4}, {4, huge}})), HasSubstr("expected [M x K"));
  EXPECT_THAT(message("LookupFunction", Dims({{huge, 32}, {2}, {huge}, {huge}})),
              HasSubstr("bags + 1"));
  EXPECT_THAT(message("LookupFunctionBackward", json::object()),
              HasSubstr("of its children size: tables, weights, offsets"));
}

}  // namespace
}  // namespace rowhouse
