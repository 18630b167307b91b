// NextBest: where a table of the planner's plan could be instead, and what the step would then
// take: the reason for its place where its own figures give none.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>

#include "sharding/planner/plan_choice.h"

namespace rowhouse {

struct NextBest {
  std::string how;  // "whole on a shard, pooled by workers"
  double ms = 0;    // of the step, all other tables as they are, but for cache shares
  bool leaves_out_shares = false;  // the plan has cache shares, and `ms` is without them
};

// Of all other ways to place the table that the limits allow, the fastest; nullopt: there is none.
// The same way on another shard is no other way. Predicts some ten to twenty plans. Requires a
// plan.
std::optional<NextBest> NextBestOf(const PlanChoice& choice, const TableSpec& table);

// "the next best, whole on a shard, takes 6.10 ms a step, 3.8 % longer"; `ms`: of the step as it
// is, without cache shares.
std::string NextBestText(const NextBest& next, double ms);

}  // namespace rowhouse
