// Retention: which rows a cache keeps, as far as its hit rate depends on it. Cache policies declare
// it (ps/cache/cache_policy.h); predictions of hit rates read it
// (sharding/lab/traffic/id_distribution.h). Threads: plain data.
#pragma once

namespace rowhouse {

struct Retention {
  // 0: the rows that were used last, whose hit rate is Che's (Che, Tung and Wang, 2002). 1: those
  // that are looked up most often. Between: this share of the way from the one hit rate to the
  // other, as measured by tests/launch/lab/cache_model_test.cc.
  double by_count = 0;
  // A fixed set: those that a file of access counts ranks highest; without one, those of the
  // smallest numbers, which is as good as any set.
  bool is_fixed = false;
};

}  // namespace rowhouse
