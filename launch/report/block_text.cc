#include "launch/report/block_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "launch/report/figure_text.h"
#include "launch/report/text_table.h"

namespace rowhouse {
namespace {

std::string Bytes(uint64_t bytes) { return BytesText(static_cast<double>(bytes)); }
std::string Count(uint64_t count) { return CountText(static_cast<double>(count)); }

std::string SavingsText(const std::vector<BlockSavings>& savings) {
  TextTable table = {.columns = {{.name = "row width"},
                                 {.name = "rows", .is_number = true},
                                 {.name = "projections", .is_number = true},
                                 {.name = "of plain", .is_number = true},
                                 {.name = "saved", .is_number = true},
                                 {.name = "multiply-adds a sample", .is_number = true}},
                     .rows = {}};
  for (const BlockSavings& one : savings) {
    const int64_t saved = one.saved_bytes();
    const double of_plain = static_cast<double>(one.rows_bytes + one.projection_bytes) /
                            static_cast<double>(one.plain_bytes);
    table.rows.push_back({fmt::format("1/{}", one.divisor), Bytes(one.rows_bytes),
                          Bytes(one.projection_bytes), fmt::format("{:.4f}", of_plain),
                          saved < 0 ? "-" + Bytes(static_cast<uint64_t>(-saved))
                                    : Bytes(static_cast<uint64_t>(saved)),
                          Count(one.multiply_adds)});
  }
  return "\nPlain and block tables of the model as block tables (bytes moved shrink as rows "
         "do):\n\n" +
         TableAsText(table);
}

}  // namespace

BlockFigures BlockFiguresOf(const EmbeddingTables& tables, uint32_t dim, uint64_t memory_bytes,
                            uint32_t shards) {
  const uint32_t ranks = shards > 1 ? shards : kRanksOfNotebook;
  return {.savings = BlockSavingsOf(tables),
          .ranks = ranks,
          .is_example = shards <= 1,
          .memory_bytes = memory_bytes,
          .dim = dim,
          .limits = RankLimitsOf(memory_bytes / sizeof(float), dim, ranks)};
}

nlohmann::ordered_json BlockFiguresToJson(const BlockFigures& figures) {
  nlohmann::ordered_json savings = nlohmann::ordered_json::array();
  for (const BlockSavings& one : figures.savings) {
    savings.push_back({{"divisor", one.divisor},
                       {"rows_bytes", one.rows_bytes},
                       {"projection_bytes", one.projection_bytes},
                       {"plain_bytes", one.plain_bytes},
                       {"saved_bytes", one.saved_bytes()},
                       {"multiply_adds", one.multiply_adds}});
  }
  return {{"savings", savings},
          {"limits",
           {{"ranks", figures.ranks},
            {"memory_bytes", figures.memory_bytes},
            {"dim", figures.dim},
            {"replicated", figures.limits.replicated},
            {"divided", figures.limits.divided},
            {"as_blocks", figures.limits.as_blocks},
            {"stored_as_blocks", figures.limits.stored_as_blocks}}}};
}

std::string BlockFiguresText(const BlockFigures& figures) {
  std::string text = figures.savings.empty() ? "" : SavingsText(figures.savings);
  const RankLimits& limits = figures.limits;
  const auto line = [&](const std::string& name, uint64_t parameters, const std::string& behind) {
    text += fmt::format("{:<44}{:>22}{}\n", name, Count(parameters) + " parameters", behind);
  };
  const auto times = [&](uint64_t parameters) {
    return fmt::format(", {:.2f} times", limits.replicated == 0
                                             ? 0.0
                                             : static_cast<double>(parameters) /
                                                   static_cast<double>(limits.replicated));
  };
  text += fmt::format("\nThe largest table of {} floats a row on {} shards of {} each{}:\n\n",
                      figures.dim, figures.ranks, Bytes(figures.memory_bytes),
                      figures.is_example ? ", if there were so many (this plan has one)" : "");
  line("all of it on each", limits.replicated, "");
  line("divided by rows", limits.divided, times(limits.divided));
  line(fmt::format("and each piece a block table of {} floats", figures.dim / figures.ranks),
       limits.as_blocks,
       times(limits.as_blocks) +
           fmt::format("; {} floats are stored for them", Count(limits.stored_as_blocks)));
  return text;
}

}  // namespace rowhouse
