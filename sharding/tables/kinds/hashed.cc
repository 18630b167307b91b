// hashed: ids of any vocabulary share `buckets` rows, found by a 64-bit hash (Micro-DLRM's virtual
// table; the hashing trick of Weinberger et al., 2009; more hashes per id as in Svenstrup
// et al., 2017).
//   buckets            rows of the physical table; required
//   hash_seed (0xA5A5A5A5)  of the first hash; features that share a table take different ones
//   hashes (1)         rows an id is made of, 1 to 8; hash k > 0 has the seed HashId(k, hash_seed)
//   operation (add)    how they are combined: add, mult or concat; concat gives hashes x dim floats
//   share (the table's own name)  name of the physical table; tables with the same one are one
#include "sharding/tables/id_hash.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMaxHashes = 8;

class Hashed final : public TableKind {
 public:
  static Result<std::unique_ptr<TableKind>> Make(const KindContext& context) {
    const LogicalTable& table = context.table;
    KindOptionReader options(table);
    const uint64_t buckets = options.Whole("buckets", 0, 1, uint64_t{1} << 62);
    const uint64_t seed = options.Whole("hash_seed", 0xA5A5A5A5, 0, UINT64_MAX);
    const uint64_t hashes = options.Whole("hashes", 1, 1, kMaxHashes);
    const std::string operation = options.Choice("operation", {"add", "mult", "concat"});
    const std::string name = options.TableName("share", table.name);
    RETURN_IF_ERROR(options.Finish());
    if (buckets == 0) {
      return UsageError("table \"{}\": a hashed table needs buckets, the rows its ids share",
                        table.name);
    }
    auto kind = std::make_unique<Hashed>();
    kind->buckets_ = buckets;
    for (uint64_t k = 0; k < hashes; ++k) {
      kind->seeds_.push_back(k == 0 ? seed : static_cast<uint64_t>(HashId(k, seed)));
    }
    PhysicalTable physical = MakePhysical(table, "", buckets, table.dim);
    physical.spec.name = name;
    const Combine combine = CombineOf(operation);
    const auto width =
        static_cast<uint32_t>(combine == Combine::kConcat ? hashes * table.dim : table.dim);
    kind->layout_ = {.tables = {physical},
                     .parts = std::vector<uint32_t>(hashes, 0),
                     .combine = combine,
                     .width = width,
                     .out_width = width};
    return Result<std::unique_ptr<TableKind>>(std::move(kind));
  }

  void Resolve(size_t part, std::span<const uint64_t> ids,
               std::span<uint64_t> rows) const override {
    for (size_t i = 0; i < ids.size(); ++i) rows[i] = HashedRow(ids[i], seeds_[part], buckets_);
  }

 private:
  uint64_t buckets_ = 1;
  std::vector<uint64_t> seeds_;
};

REGISTER_MEMBER(AddTableKind("hashed",
                             {.options = {"buckets", "hash_seed", "hashes", "operation", "share"},
                              .rows_option = "buckets",
                              .shares_rows_by_chance = true},
                             &Hashed::Make));

}  // namespace
}  // namespace rowhouse
