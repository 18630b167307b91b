// grouped: mixed-vocabulary tables (hpcaitech's ParallelMixVocabEmbeddingBag). LoadBalanceManager
// divides all grouped tables of one `share` among `groups` groups. Each group has a width, a
// physical table (or two) and a projection of its own, which the pieces of all tables in it share.
// The groups belong to the model: shards cut their tables like any other.
//   groups (4, or fewer where there are fewer rows or tables)  1 to 4096; fair: at most as many as
//                    rows. shuffle, greedy: where there are more groups than tables, some are
//                    empty, and nothing is trained for them
//   mode (fair)      fair cuts the tables laid end to end into groups of equal size and width;
//                    shuffle and greedy assign whole tables: the larger a group, the wider its rows
//   method (block)   block: an id is a row of its group; qr: it is a row of quotients times a
//                    row of remainders, by id, of ceil(sqrt(rows)) remainders a group
//   capacities (all the same)  fair, greedy: the share of each group, relative to the others, such
//                    as 2,1,1. One a group; without `groups` there are as many groups as
//                    capacities. They belong to the model; those of PS nodes are a setting
//   share (grouped)  tables with the same word are divided together; they have equal dim and equal
//                    values of these options
// The width of a group is LoadBalanceManager's block dim of a base of dim, and never above dim;
// rows of full width are not projected. Where the original errs this does not: an id is in one
// group only; the remainder of the division is in the last group, which has enough quotients for
// it.
#include <algorithm>
#include <cmath>

#include "sharding/tables/load_balance_manager.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMaxGroups = 4096;

struct GroupedOptions {
  uint64_t groups = 0;  // 0: not given
  std::string mode, method, share;
  std::vector<uint64_t> capacities;

  bool operator==(const GroupedOptions&) const = default;
};

Result<GroupedOptions> ReadGroupedOptions(const LogicalTable& table) {
  KindOptionReader options(table);
  GroupedOptions grouped;
  grouped.groups = options.Whole("groups", 0, 1, kMaxGroups);
  grouped.mode = options.Choice("mode", LoadBalanceModeNames());
  grouped.method = options.Choice("method", {"block", "qr"});
  grouped.share = options.TableName("share", "grouped");
  grouped.capacities = options.Wholes("capacities", 1, UINT32_MAX);
  RETURN_IF_ERROR(options.Finish());
  return grouped;
}

// The tables that are divided together, in the model's order.
struct Together {
  std::vector<uint64_t> rows;
  uint32_t place = 0;      // of the table at hand
  std::string first_name;  // of the first, after which groups are named
};

class Grouped final : public TableKind {
 public:
  static Result<std::unique_ptr<TableKind>> Make(const KindContext& context) {
    const LogicalTable& table = context.table;
    ASSIGN_OR_RETURN(const GroupedOptions options, ReadGroupedOptions(table));
    ASSIGN_OR_RETURN(const Together together, FindTogether(context, options));
    RETURN_IF_ERROR(CheckGroups(table, options, together));
    const Result<LoadBalanceManager> manager =
        LoadBalanceManager::Make(OptionsOf(table, options, together));
    if (!manager.ok()) {
      return manager.status().Annotate(fmt::format("table \"{}\": groups", table.name));
    }
    auto kind = std::make_unique<Grouped>();
    kind->is_qr_ = options.method == "qr";
    kind->layout_.combine = Combine::kProduct;
    kind->layout_.out_width = table.dim;
    for (uint32_t rank = 0; rank < manager.value().num_groups(); ++rank) {
      for (const LoadBalanceManager::Segment& segment : manager.value().segments(rank)) {
        if (segment.feature == together.place) {
          kind->AddGroup(table, manager.value(), rank, segment, together.first_name);
        }
      }
    }
    return Result<std::unique_ptr<TableKind>>(std::move(kind));
  }

  void Assign(std::span<const uint64_t> ids, std::span<uint32_t> groups) const override {
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto after = std::upper_bound(begins_.begin(), begins_.end(), ids[i]);
      groups[i] = static_cast<uint32_t>(after - begins_.begin() - 1);
    }
  }

  void Resolve(size_t part, std::span<const uint64_t> ids,
               std::span<uint64_t> rows) const override {
    const Piece& piece = pieces_[is_qr_ ? part / 2 : part];
    for (size_t i = 0; i < ids.size(); ++i) {
      const uint64_t local = ids[i] - piece.row_begin + piece.local_begin;
      if (is_qr_) {
        rows[i] = part % 2 == 0 ? local / piece.bucket : local % piece.bucket;
      } else {
        rows[i] = local;
      }
    }
  }

 private:
  // Of the table at hand: the ids from row_begin on that are in one group.
  struct Piece {
    uint64_t row_begin = 0;
    uint64_t local_begin = 0;  // of the first of them within the group
    uint64_t bucket = 1;       // qr: remainders
  };

  static Result<Together> FindTogether(const KindContext& context, const GroupedOptions& mine) {
    Together together;
    for (const LogicalTable& other : context.model) {
      if (other.kind != "grouped") continue;
      ASSIGN_OR_RETURN(const GroupedOptions options, ReadGroupedOptions(other));
      if (options.share != mine.share) continue;
      if (options != mine || other.dim != context.table.dim) {
        return UsageError(
            "table \"{}\" and table \"{}\": grouped tables of the same share ({}) must agree on "
            "dim, groups, mode, method and capacities, because they are divided among the same "
            "groups; "
            "give one of "
            "them another share",
            context.table.name, other.name, mine.share);
      }
      if (other.name == context.table.name)
        together.place = static_cast<uint32_t>(together.rows.size());
      if (together.rows.empty()) together.first_name = other.name;
      together.rows.push_back(other.rows);
    }
    return together;
  }

  // LoadBalanceManager would give all rows to the last group.
  static Status CheckGroups(const LogicalTable& table, const GroupedOptions& options,
                            const Together& together) {
    const uint64_t groups = std::max<uint64_t>(options.groups, options.capacities.size());
    uint64_t rows = 0;
    for (const uint64_t of_table : together.rows) rows += std::min(of_table, kMaxGroups);
    if (options.mode != "fair" || groups <= rows) return OkStatus();
    return UsageError(
        "table \"{}\": groups={} exceeds the {} rows of the tables divided together; give at most "
        "{}",
        table.name, groups, rows, rows);
  }

  static LoadBalanceOptions OptionsOf(const LogicalTable& table, const GroupedOptions& options,
                                      const Together& together) {
    LoadBalanceOptions of_manager{.embeddings_per_feat = together.rows, .base_emb_dim = table.dim};
    const auto& modes = LoadBalanceModeNames();
    const auto mode = std::find(modes.begin(), modes.end(), options.mode) - modes.begin();
    of_manager.mode = static_cast<LoadBalanceMode>(mode);
    of_manager.capacities.assign(options.capacities.begin(), options.capacities.end());
    uint64_t groups = options.groups;
    if (groups == 0) groups = options.capacities.size();
    if (groups == 0) {
      const bool is_fair = of_manager.mode == LoadBalanceMode::kFair;
      for (const uint64_t rows : together.rows) groups += is_fair ? std::min<uint64_t>(rows, 4) : 1;
      groups = std::min<uint64_t>(groups, 4);
    }
    of_manager.num_groups = static_cast<uint32_t>(groups);
    return of_manager;
  }

  void AddGroup(const LogicalTable& table, const LoadBalanceManager& manager, uint32_t rank,
                const LoadBalanceManager::Segment& segment, const std::string& first_name) {
    const uint32_t width = std::min(manager.EmbDim(rank), table.dim);
    const uint64_t rows = manager.NumEmbeddingsOnRank(rank);
    const uint64_t bucket = manager.QrBucketSize(rank);
    const std::string name = fmt::format("{}.group{}", first_name, rank);
    layout_.groups.push_back({.first_part = static_cast<uint32_t>(layout_.parts.size()),
                              .parts = is_qr_ ? 2u : 1u,
                              .width = width,
                              .projects = width != table.dim,
                              .projection = name + ".projection"});
    if (is_qr_) {
      const double scale = std::sqrt(1.0 / static_cast<double>(rows));  // as of kind qr
      AddPart(table, name + ".quotient", rows / bucket + (rows % bucket != 0 ? 1 : 0), width,
              scale);
      AddPart(table, name + ".remainder", bucket, width, scale);
    } else {
      AddPart(table, name, rows, width, 0.0);
    }
    begins_.push_back(segment.row_begin);
    pieces_.push_back(
        {.row_begin = segment.row_begin, .local_begin = segment.local_begin, .bucket = bucket});
  }

  // `scale`: of initial values that have none of their own; 0: leave them.
  void AddPart(const LogicalTable& table, const std::string& name, uint64_t rows, uint32_t width,
               double scale) {
    PhysicalTable physical = MakePhysical(table, "", rows, width);
    physical.spec.name = name;
    double& own = physical.spec.initialiser_options.scale;
    if (own == 0.0 && table.initialiser != "normal") own = scale;
    layout_.parts.push_back(static_cast<uint32_t>(layout_.tables.size()));
    layout_.tables.push_back(std::move(physical));
  }

  bool is_qr_ = false;
  std::vector<uint64_t> begins_;  // row_begin of each piece, ascending
  std::vector<Piece> pieces_;     // one a group that the table has ids in
};

REGISTER_MEMBER(AddTableKind("grouped",
                             {.options = {"groups", "mode", "method", "share", "capacities"},
                              .lies_beside_others = true},
                             &Grouped::Make));

}  // namespace
}  // namespace rowhouse
