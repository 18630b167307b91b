// DATASET: rows have fixed ranks: by falling count in a file of access counts, then by number;
// without a file by number alone. The row of the lowest rank is evicted (ColossalAI's cached
// embedding).
#include "ps/cache/cache_policy.h"

namespace rowhouse {
namespace {

class DatasetRanks final : public CachePolicy {
 public:
  explicit DatasetRanks(const CachePolicyOptions& options)
      : access_counts_(options.access_counts) {}

  uint8_t Use(uint8_t state, const CacheUse&) override { return state; }

  bool ranks_rows() const override { return true; }

  size_t Choose(std::span<const CachedRow> rows) override {
    const auto frequency = [&](size_t i) {
      return access_counts_ == nullptr ? 0.0 : access_counts_->Of(rows[i].row);
    };
    size_t chosen = 0;
    double least = frequency(0);
    for (size_t i = 1; i < rows.size(); ++i) {
      const double f = frequency(i);
      if (f < least || (f == least && rows[i].row > rows[chosen].row)) {
        chosen = i;
        least = f;
      }
    }
    return chosen;
  }

 private:
  const std::shared_ptr<const RowAccessCounts> access_counts_;
};

REGISTER_MEMBER(CachePolicies().Add<DatasetRanks>("dataset",
                                                  Retention{.by_count = 1, .is_fixed = true}));

}  // namespace
}  // namespace rowhouse
