// pull_encrypted, push_encrypted: what --encrypt costs. The work of the benches pull and push with
// CurveZMQ, beside the same with a key in clear.
#include <memory>
#include <utility>

#include "launch/bench/bench.h"
#include "launch/bench/one_shard.h"

namespace rowhouse {
namespace {

constexpr size_t kSteps = 2;  // a sample: each of OneShard's two batches once

using RowsPerSecond = Result<double> (OneShard::*)(size_t steps);

template <RowsPerSecond kMeasure>
class EncryptedBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions&) {
    auto bench = std::make_unique<EncryptedBench>();
    ASSIGN_OR_RETURN(bench->encrypted_, OneShard::Start({.encrypts = true}));
    ASSIGN_OR_RETURN(bench->plain_, OneShard::Start({}));
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "rows/s"; }
  std::string yardstick() const override { return "without --encrypt"; }
  std::optional<double> target() const override { return std::nullopt; }
  Result<double> MeasureSystem() override { return (*encrypted_.*kMeasure)(kSteps); }
  Result<double> MeasureYardstick() override { return (*plain_.*kMeasure)(kSteps); }

 private:
  std::unique_ptr<OneShard> encrypted_, plain_;
};

REGISTER_MEMBER(AddBench("pull_encrypted",
                         {"rows from one shard with --encrypt, beside without", "10 s"},
                         &EncryptedBench<&OneShard::PulledRowsPerSecond>::Make));
REGISTER_MEMBER(AddBench("push_encrypted",
                         {"rows to one shard with --encrypt, beside without", "10 s"},
                         &EncryptedBench<&OneShard::PushedRowsPerSecond>::Make));

}  // namespace
}  // namespace rowhouse
