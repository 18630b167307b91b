// Batch normalisation: torch's numbers, gradients, and statistics over workers.
#include "worker/dense/batch_norm.h"

#include <omp.h>

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

#include "tests/testing/model_gradients.h"
#include "tests/testing/testing.h"
#include "worker/dense/dlrm_model.h"

namespace rowhouse {
namespace {

using Floats = std::vector<float>;

void ExpectAllNear(std::span<const float> got, const Floats& want, float tolerance,
                   const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << what << i;
}

// tests/vectors/batch_norm.py.
TEST(BatchNorm, IsTorchs) {
  const auto vectors = LoadVectors("batch_norm.json");
  DenseParameters parameters;
  BatchNorm norm(vectors.at("units").get<uint32_t>(), "bn", &parameters);
  parameters.Allocate();
  std::ranges::copy(vectors.at("weight").get<Floats>(), parameters.values(0).begin());
  std::ranges::copy(vectors.at("bias").get<Floats>(), parameters.values(1).begin());
  std::ranges::fill(parameters.values(3), 1.0f);
  for (const auto& step : vectors.at("steps")) {
    Floats y = step.at("x").get<Floats>(), dy = step.at("dy").get<Floats>();
    norm.ForwardOfStep(y.size() / 5, nullptr, y.data());
    ExpectAllNear(y, step.at("y").get<Floats>(), 2e-6f, "y");
    norm.Backward(y.data(), nullptr, dy.data());
    ExpectAllNear(dy, step.at("dx").get<Floats>(), 2e-6f, "dx");
    ExpectAllNear(parameters.gradients(0), step.at("weight_gradient").get<Floats>(), 4e-6f,
                  "weight");
    ExpectAllNear(parameters.gradients(1), step.at("bias_gradient").get<Floats>(), 4e-6f, "bias");
    norm.MoveStatistics();
    ExpectAllNear(parameters.values(2), step.at("running_mean").get<Floats>(), 1e-6f, "mean");
    ExpectAllNear(parameters.values(3), step.at("running_var").get<Floats>(), 3e-6f, "var");
  }
  Floats y = vectors.at("scores").at("x").get<Floats>();
  norm.ForwardOfScores(3, y.data());
  ExpectAllNear(y, vectors.at("scores").at("y").get<Floats>(), 2e-6f, "scores");
}

// What one worker has of 24 samples, workers with 11, none and 13 of them have.
TEST(BatchNorm, NormalisesOverTheSamplesOfAllWorkers) {
  constexpr size_t kUnits = 3, kWorkers = 3;
  Floats x(24 * kUnits), dy(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((i * 7919) % 101) / 10.0f;
    dy[i] = static_cast<float>((i * 104729) % 103) / 50.0f - 1.0f;
  }
  const auto run = [&](size_t first, size_t samples, const SumOverWorkers& sum, Floats* y,
                       Floats* dx, Floats* statistics) {
    DenseParameters parameters;
    BatchNorm norm(kUnits, "bn", &parameters);
    parameters.Allocate();
    std::ranges::fill(parameters.values(0), 0.7f);
    std::ranges::fill(parameters.values(1), 0.2f);
    std::ranges::fill(parameters.values(3), 1.0f);
    const auto part = [&](const Floats& all) {
      return Floats(all.begin() + static_cast<std::ptrdiff_t>(first * kUnits),
                    all.begin() + static_cast<std::ptrdiff_t>((first + samples) * kUnits));
    };
    *y = part(x);
    *dx = part(dy);
    norm.ForwardOfStep(samples, sum, y->data());
    norm.Backward(y->data(), sum, dx->data());
    norm.MoveStatistics();
    statistics->assign(parameters.values(2).begin(), parameters.values(2).end());
    statistics->insert(statistics->end(), parameters.values(3).begin(), parameters.values(3).end());
  };
  Floats y, dx, statistics;
  run(0, 24, nullptr, &y, &dx, &statistics);

  std::barrier all_there(kWorkers);
  std::vector<Floats> sums(kWorkers), ys(kWorkers), dxs(kWorkers), stats(kWorkers);
  std::vector<std::thread> workers;
  for (size_t w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      const auto sum = [&, w](std::span<float> values) {
        sums[w].assign(values.begin(), values.end());
        all_there.arrive_and_wait();
        std::ranges::fill(values, 0.0f);
        for (const Floats& one : sums) {
          for (size_t i = 0; i < values.size(); ++i) values[i] += one[i];
        }
        all_there.arrive_and_wait();
      };
      constexpr size_t kFirst[] = {0, 11, 11}, kSamples[] = {11, 0, 13};
      run(kFirst[w], kSamples[w], sum, &ys[w], &dxs[w], &stats[w]);
    });
  }
  for (std::thread& worker : workers) worker.join();
  Floats all_y, all_dx;
  for (size_t w = 0; w < kWorkers; ++w) {
    all_y.insert(all_y.end(), ys[w].begin(), ys[w].end());
    all_dx.insert(all_dx.end(), dxs[w].begin(), dxs[w].end());
    EXPECT_EQ(stats[w], stats[0]) << "workers keep equal statistics";
  }
  ExpectAllNear(all_y, y, 1e-5f, "y");
  ExpectAllNear(all_dx, dx, 1e-5f, "dx");
  ExpectAllNear(stats[0], statistics, 1e-4f, "statistics");
}

// Squares about 0 would have no digits left of the variance, also in a first step.
TEST(BatchNorm, MeansFarFromZeroCostNoDigits) {
  constexpr float kMean = 8192.0f;
  DenseParameters parameters;
  BatchNorm norm(1, "bn", &parameters);
  parameters.Allocate();
  parameters.values(0)[0] = 1.0f;
  Floats y = {kMean - 1.0f, kMean + 1.0f, kMean + 1.0f, kMean - 1.0f};
  norm.ForwardOfStep(y.size(), nullptr, y.data());
  ExpectAllNear(y, {0.0f, 1.0f, 1.0f, 0.0f}, 1e-5f, "y");
}

// A column is of one thread, and long enough arrays are of several.
TEST(BatchNorm, AnyNumberOfThreadsGivesTheSameBits) {
  constexpr size_t kUnits = 70, kSamples = 1000;  // above 2^16 floats
  const auto run = [&](int threads) {
    omp_set_num_threads(threads);
    DenseParameters parameters;
    BatchNorm norm(kUnits, "bn", &parameters);
    parameters.Allocate();
    std::ranges::fill(parameters.values(0), 0.7f);
    std::ranges::fill(parameters.values(3), 1.0f);
    Floats y(kSamples * kUnits), dy(y.size());
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = static_cast<float>((i * 7919) % 10007) / 1000.0f;
      dy[i] = static_cast<float>((i * 104729) % 10009) / 5000.0f - 1.0f;
    }
    norm.ForwardOfStep(kSamples, nullptr, y.data());
    norm.Backward(y.data(), nullptr, dy.data());
    norm.MoveStatistics();
    y.insert(y.end(), dy.begin(), dy.end());
    y.insert(y.end(), parameters.values().begin(), parameters.values().end());
    y.insert(y.end(), parameters.gradients().begin(), parameters.gradients().end());
    return y;
  };
  const int before = omp_get_max_threads();
  const Floats one = run(1);
  EXPECT_EQ(run(2), one);
  EXPECT_EQ(run(5), one);
  omp_set_num_threads(before);
}

TEST(BatchNorm, GradientsAreThoseOfTheModel) {
  ModelSpec spec;
  spec.bottom_mlp = {2, 4, 3};
  spec.top_mlp = {5, 1};
  spec.feature_widths = {3};
  spec.loss = "bce";
  spec.batch_norm = true;
  EXPECT_GT(ExpectGradientsOfTheLoss(spec, DropoutDraws{},
                                     {.step = 1e-3f, .tolerance = 4e-3, .counted_above = 1e-3f}),
            25u);
}

TEST(BatchNorm, WithoutHiddenLayersIsRefused) {
  ModelSpec spec;
  spec.bottom_mlp = {2, 3};
  spec.top_mlp = {1};
  spec.feature_widths = {3};
  spec.batch_norm = true;
  EXPECT_THAT(spec.Validate().message(), testing::HasSubstr("batch_norm normalises hidden layers"));
  spec.top_mlp = {4, 1};
  EXPECT_OK(spec.Validate());
}

}  // namespace
}  // namespace rowhouse
