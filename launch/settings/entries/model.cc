// Settings of the model. Names and defaults of DLRM's flags are DLRM's.
#include "launch/settings/setting_list.h"
#include "sharding/rows/initialiser.h"
#include "worker/dense/interaction.h"
#include "worker/dense/loss.h"

namespace rowhouse {
namespace {

using enum Digest;

constexpr uint32_t kMaxWidth = 1 << 20;

template <typename T>
Value<std::vector<T>> Joined(uint64_t high) {
  return ListValue(fmt::format("whole numbers from 1 to {}, joined by - (such as 4-3-2)", high),
                   WholeValue<T>(1, static_cast<T>(high)), '-', /*may_be_empty=*/false);
}

SettingField RowsOfTables() {
  const Value<std::vector<uint64_t>> value = Joined<uint64_t>(uint64_t{1} << 63);
  SettingField field{{.expected = value.expected, .kind = SettingKind::kNumberList}};
  field.member = "tables";
  field.set = [value](const std::string& text, Settings& settings) {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> rows, value.read(text));
    settings.SetTableRows(rows);
    return OkStatus();
  };
  field.get = [value](const Settings& settings) {
    std::vector<uint64_t> rows;
    for (const LogicalTable& table : settings.tables) rows.push_back(table.rows);
    return value.print(rows);
  };
  return field;
}

Value<std::vector<double>> LossWeights() {
  return MakeValue<std::vector<double>>(
      "two numbers of 0 or more, joined by - or , (such as 1.0-1.0)",
      [](const std::string& text) -> std::optional<std::vector<double>> {
        std::vector<double> weights;
        for (const std::string& item : SplitList(text)) {
          const auto weight = ReadReal(item);
          if (!weight || *weight < 0.0) return std::nullopt;
          weights.push_back(*weight);
        }
        if (weights.size() != 2) return std::nullopt;
        return weights;
      },
      // Between commas, because 1e-05 holds a -.
      [](const std::vector<double>& weights) {
        return fmt::format("{}", fmt::join(weights, ","));
      });
}

void AddShape(SettingList& list) {
  list.Add(Whole(MEMBER(sparse_feature_size), 1, TableSpec::kMaxDim),
           {.name = "arch_sparse_feature_size",
            .help = "Floats in an embedding row, of every table",
            .digest = kIn,
            .is_basic = true,
            .then = [](Settings& s) {
              ForAllTables(s, [&s](LogicalTable& table) { table.dim = s.sparse_feature_size; });
            }});
  list.Add(RowsOfTables(),
           {.name = "arch_embedding_size",
            .help = "Rows of each table. Where neither flag nor config gives them, a table of "
                    "Criteo's data has a row for each token of its column. Tables are named t0, "
                    "t1, ...; where --config has as many tables, they keep their names and options",
            .digest = kIn,
            .is_basic = true});
  list.Add(Held(MEMBER(model.bottom_mlp), Joined<uint32_t>(kMaxWidth)),
           {.name = "arch_mlp_bot",
            .help = "Widths of the bottom MLP: the dense features first, arch_sparse_feature_size "
                    "last",
            .digest = kIn,
            .is_basic = true});
  list.Add(Held(MEMBER(model.top_mlp), Joined<uint32_t>(kMaxWidth)),
           {.name = "arch_mlp_top",
            .help = "Widths of the top MLP without its input, which follows from the interaction; "
                    "the last is 1",
            .digest = kIn,
            .is_basic = true});
}

void AddInteraction(SettingList& list) {
  list.Add(Choice(MEMBER(model.interaction), Interactions().Names()),
           {.name = "arch_interaction_op",
            .help = "How the bottom MLP's output and the pooled vectors are combined. dot: the "
                    "products of all pairs; cat: side by side, of any widths; dcn: the cross "
                    "layers of DCN-v2, as in MLPerf's DLRM-v2; gdcn: the gated ones of GDCN",
            .digest = kIn,
            .is_basic = true});
  list.Add(Switch(MEMBER(model.interaction_itself)),
           {.name = "arch_interaction_itself",
            .help = "With dot: also the product of each vector with itself",
            .digest = kIn});
  list.Add(Switch(MEMBER(model.wide)),
           {.help = "Add a wide part: a weight of each row and of each dense number, which begins "
                    "as 0, is added to the logit, as in Wide & Deep and DeepFM. Each table has the "
                    "weights of its rows in another, NAME.wide, which is trained as it is",
            .digest = kIn});
  list.Add(Whole(MEMBER(model.dcn_num_layers), 1, 64),
           {.help = "With dcn: the number of cross layers", .digest = kIn});
  list.Add(Whole(MEMBER(model.dcn_low_rank_dim), 1, kMaxWidth),
           {.help = "With dcn: the rank of each cross layer's matrix", .digest = kIn});
  AddDeclared(
      list, Interactions(), [](Settings& s) -> OptionValues& { return s.model.interaction_own; },
      "model.interaction_own");
}

void AddPrecision(SettingList& list) {
  list.Add(Choice(MEMBER(model.dense_precision), {"f32", "bf16"}),
           {.help = "Numbers that the layers multiply. bf16: weights, inputs and gradients rounded "
                    "to 8 bits of precision, summed in f32; the weights that are trained and saved "
                    "stay f32. Faster on CPUs with AMX, and needs AVX-512",
            .digest = kOfRun});
  list.Add(Choice(MEMBER(model.pull_precision), {"f32", "bf16"}),
           {.help = "Numbers that rows are looked up in. bf16: a row's weights are rounded for the "
                    "forward pass, on shards, on workers and of a saved model alike, and a pull "
                    "takes half the bytes; what is trained and stored stays as precision says",
            .digest = kOfRun});
  list.Add(Choice(MEMBER(model.push_precision), {"f32", "bf16"}),
           {.help = "Numbers of the gradients of rows. bf16: a worker's summed gradient of a row "
                    "is rounded, and a push takes half the bytes; those of workers are summed, and "
                    "rows are updated, in f32",
            .digest = kOfRun});
}

void AddLoss(SettingList& list) {
  list.Add(Choice(MEMBER(model.loss), Losses().Names()),
           {.name = "loss_function",
            .help = "What training minimises. mse: the mean square error; bce: the binary cross "
                    "entropy; wbce: the same, weighted by class",
            .digest = kIn,
            .is_basic = true});
  AddDeclared(
      list, Losses(), [](Settings& s) -> OptionValues& { return s.model.loss_own; },
      "model.loss_own", kOfRun);
  list.Add(Held(MEMBER(model.loss_weights), LossWeights()),
           {.help = "With wbce: the weights of class 0 and class 1", .digest = kIn});
  list.Add(Real(MEMBER(model.loss_threshold), "a number from 0 to below 1", IsBelowOne),
           {.help = "Clamps predictions to [this, 1 - this]; 0: no clamp", .digest = kIn});
}

void AddDropout(SettingList& list) {
  const std::string rest =
      "In training, the share of the units of hidden layers that is dropped, by seed, step and "
      "sample; what is kept is divided by 1 - this. Hidden are all layers but the last of the ";
  list.Add(Real(MEMBER(model.dropout_bot), "a number from 0 to below 1", IsBelowOne),
           {.help = rest + "bottom MLP", .unit = "fraction", .digest = kOfRun});
  list.Add(Real(MEMBER(model.dropout_top), "a number from 0 to below 1", IsBelowOne),
           {.help = rest + "top MLP", .unit = "fraction", .digest = kOfRun});
}

void AddBatchNorm(SettingList& list) {
  list.Add(Switch(MEMBER(model.batch_norm)),
           {.help = "Normalise each unit of hidden layers: in training over the samples of a step, "
                    "those of all workers together, and in scores by running means. Hidden are all "
                    "layers but the last of each MLP",
            .digest = kIn});
}

void AddTables(SettingList& list) {
  list.Add(Held(MEMBER(table_defaults.initialiser), NameValue(Initialisers())),
           {.help = "Initial values of rows. counter: uniform, from a hash of seed, table, row and "
                    "column, for tables of any size; normal: the same with Xavier's normal "
                    "distribution; dlrm: the numbers that DLRM draws, at most 2^33 of them. "
                    "--config can also give tables a constant or a file (init_from)",
            .digest = kIn,
            .then = [](Settings& s) {
              const std::string name = s.table_defaults.initialiser;
              ForAllTables(s, [&](LogicalTable& table) { SetInitialiser(name, &table); });
            }});
  list.Add(Choice(MEMBER(table_defaults.weighted_pooling), {"none", "fixed", "learned"}),
           {.help = "Weights of the ids in the sum of a bag, in all tables. fixed: all are 1; "
                    "learned: each id has one, in a table of rows of width 1",
            .then = [](Settings& s) {
              for (LogicalTable& table : s.tables) {
                table.weighted_pooling = s.table_defaults.weighted_pooling;
              }
            }});
}

// These are in the digest by the kinds of the tables.

void AddQrTables(SettingList& list) {
  list.Add(Switch(MEMBER(compression.qr_flag)),
           {.help = "Large tables are of kind qr: a table of quotients and one of remainders"});
  list.Add(Whole(MEMBER(compression.qr_threshold), 0),
           {.help = "With qr_flag: tables of more rows than this are of kind qr"});
  list.Add(Whole(MEMBER(compression.qr_collisions), 1, uint64_t{1} << 62),
           {.help = "With qr_flag: rows of the table of remainders"});
  list.Add(Choice(MEMBER(compression.qr_operation), {"mult", "add", "concat"}),
           {.help = "With qr_flag: how quotient and remainder are combined; concat makes vectors "
                    "of twice the width"});
  list.Add(Switch(MEMBER(compression.qr_pool_first)),
           {.help = "With qr_flag: pools quotients and remainders separately and combines the "
                    "sums, as DLRM does. Without it they are combined for each id, as in the "
                    "paper"});
}

void AddMixedTables(SettingList& list) {
  list.Add(Switch(MEMBER(compression.md_flag)),
           {.help = "Large tables are of kind mixed: the larger a table, the narrower its rows"});
  list.Add(Whole(MEMBER(compression.md_threshold), 0),
           {.help = "With md_flag: tables of more rows than this are of kind mixed"});
  list.Add(Real(MEMBER(compression.md_temperature), "a number of 0 or more", IsNotNegative),
           {.help = "With md_flag: how fast rows get narrower as tables get larger"});
  list.Add(Switch(MEMBER(compression.md_round_dims)),
           {.help = "With md_flag: widths are powers of two"});
}

REGISTER_MEMBER(RegisterSettings(Section::kModel,
                                 {AddShape, AddInteraction, AddPrecision, AddLoss, AddDropout,
                                  AddBatchNorm, AddTables, AddQrTables, AddMixedTables}));

}  // namespace
}  // namespace rowhouse
