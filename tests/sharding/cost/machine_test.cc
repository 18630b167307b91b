#include "sharding/lab/cost/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rowhouse {
namespace {

TEST(Machine, ComesBackFromJson) {
  const Machine machine = Machine::Typical();
  const nlohmann::ordered_json json = machine.ToJson();
  const Machine back = Machine::FromJson(json).value();
  EXPECT_EQ(nlohmann::ordered_json(back.ToJson()), json);
  EXPECT_EQ(back.Constant("dram_gbs"), machine.Constant("dram_gbs"));
  EXPECT_EQ(back.Ns("merge", {1000, 1e6}), machine.Ns("merge", {1000, 1e6}));
}

TEST(Machine, RefusesOtherJsonAndOtherFormats) {
  const auto message = [](const nlohmann::json& json) {
    const Result<Machine> machine = Machine::FromJson(json);
    EXPECT_EQ(machine.status().code(), StatusCode::kUsage);
    return machine.status().message();
  };
  EXPECT_NE(message({{"tables", 1}}).find("rowhouse_calibration"), std::string::npos);
  nlohmann::json json = Machine::Typical().ToJson();
  json["rowhouse_calibration"] = 99;
  EXPECT_NE(message(json).find("99"), std::string::npos);
  json["rowhouse_calibration"] = 1;
  json["kernels"]["merge"]["ns"][0] = -1;
  EXPECT_NE(message(json).find("kernel merge"), std::string::npos);
}

}  // namespace
}  // namespace rowhouse
