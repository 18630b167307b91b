// What a run says before it trains.
#include <glog/logging.h>

#include "launch/prediction/plan_of_run.h"
#include "launch/run/prepared_run.h"
#include "tests/launch/given_settings.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Preview(const std::vector<std::pair<std::string, std::string>>& given) {
  Settings settings = WithAll(given);
  JobSpec job;
  job.tables = settings.embedding.physical;
  job.plan = PlanOf(settings, 2, 1).value();
  const auto data = Datasets().Make(settings.data_source(), settings.data).value();
  return RunPreviewText(settings, job, *data, 4, MemoryPlanOf(settings, job));
}

TEST(RunPreview, SaysDataModelMemoryAndWhatIsKept) {
  const std::string text = Preview({{"arch_embedding_size", "1000-234"},
                                    {"data_generation", "synthetic"},
                                    {"data_size", "2000"},
                                    {"synthetic_test_samples", "100"},
                                    {"mini_batch_size", "500"},
                                    {"nepochs", "3"},
                                    {"model_dir", "model"}});
  EXPECT_THAT(text,
              StartsWith("data    synthetic: 2,000 samples to train on, 100 to test on; 4 steps "
                         "of 500 an epoch, 3 epochs\n"
                         "model   bottom MLP 4-3-2, top MLP 4-2-1, dot; 2 tables with 1,234 rows\n"
                         "memory  predicted: PS node 0 "));
  EXPECT_THAT(text, HasSubstr(", PS node 1 "));
  EXPECT_THAT(text, HasSubstr("MiB (with the rows that this run looks up)\n"));
  EXPECT_THAT(text, HasSubstr("keeps   the model in model, its rows in model/rows, a report in "
                              "model/report.json\n"));
}

TEST(RunPreview, SaysWhatTrainingLossesAreOf) {
  EXPECT_THAT(Preview({{"loss_function", "bce"},
                       {"label_smoothing", "0.1"},
                       {"arch_mlp_top", "4-1"},
                       {"dropout_top", "0.25"}}),
              HasSubstr("\nlosses  of training are with label_smoothing=0.1, dropout_top=0.25; "
                        "scores of tests and validations are without\n"));
}

TEST(RunPreview, SaysThatNothingIsKept) {
  EXPECT_THAT(Preview({}), HasSubstr("keeps   nothing: --model_dir=DIRECTORY keeps the model\n"));
}

TEST(RunPreview, AdvisesF32WhereBf16TakesLonger) {
  EXPECT_EQ(PrecisionAdvice(ElementType::kBf16, [] { return 1.5; }),
            "dense_precision=bf16: a product takes 1.50 times as long as in f32 on this CPU; "
            "dense_precision=f32 is faster\n");
  EXPECT_EQ(PrecisionAdvice(ElementType::kBf16, [] { return 0.99; }), "");
  const auto unasked = []() -> double { LOG(FATAL) << "f32 measures nothing"; };
  EXPECT_EQ(PrecisionAdvice(ElementType::kF32, unasked), "");
}

TEST(RunPreview, NodesStartedByHandKnowTheirMemoryThemselves) {
  EXPECT_THAT(Preview({{"ps_endpoints", "tcp://a:1,tcp://b:1"}}),
              HasSubstr("memory  that of PS nodes started by hand is theirs to say\n"));
}

}  // namespace
}  // namespace rowhouse
