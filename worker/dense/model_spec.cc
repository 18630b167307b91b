#include "worker/dense/model_spec.h"

#include <cmath>

#include "worker/dense/interaction.h"
#include "worker/dense/loss.h"

namespace rowhouse {
namespace {

Status CheckWidths(const char* name, const std::vector<uint32_t>& widths) {
  for (const uint32_t width : widths) {
    if (width == 0)
      return UsageError("{}: a layer of width 0; every width must be 1 or more", name);
  }
  return OkStatus();
}

// Pooled rows and the bottom MLP's output meet in the interaction.
Status CheckVectors(const ModelSpec& spec) {
  if (Interactions().DeclarationOf(spec.interaction).takes_any_widths) return OkStatus();
  const uint32_t want = spec.bottom_mlp.back();
  for (uint32_t k = 0; k < spec.features(); ++k) {
    const uint32_t width = spec.feature_widths[k];
    if (width == want) continue;
    return UsageError(
        "feature {} is {} wide (from arch_sparse_feature_size or its table's dim), but the last "
        "width of arch_mlp_bot is {}, and arch_interaction_op={} needs vectors of one width: make "
        "them equal (a qr table with operation concat gives vectors of twice its dim), or take "
        "cat",
        k, width, want, spec.interaction);
  }
  return OkStatus();
}

Status CheckDropout(const char* name, double share, const std::vector<uint32_t>& widths,
                    size_t least_widths) {
  if (!(share >= 0.0 && share < 1.0)) {
    return UsageError("{}={} must lie in [0, 1): the share of units that is dropped", name, share);
  }
  if (share == 0.0 || widths.size() > least_widths) return OkStatus();
  return UsageError(
      "{}={} drops units of hidden layers, and that MLP has none, only its last layer: leave {} "
      "out, or give the MLP a hidden layer",
      name, share, name);
}

Status CheckLoss(const ModelSpec& spec) {
  RETURN_IF_ERROR(Losses().Validate(spec.loss).Annotate("loss_function"));
  RETURN_IF_ERROR(CheckDeclared(fmt::format("loss_function {}", spec.loss),
                                Losses().OptionsOf(spec.loss), spec.loss_own));
  if (spec.loss_weights.size() != 2) {
    return UsageError("loss_weights has {} values; wbce takes two, for class 0 and class 1",
                      spec.loss_weights.size());
  }
  for (const double weight : spec.loss_weights) {
    if (!(weight >= 0.0) || std::isinf(weight)) {
      return UsageError("loss_weights: {} must be a finite number of 0 or more", weight);
    }
  }
  if (!(spec.loss_threshold >= 0.0 && spec.loss_threshold <= 1.0)) {
    return UsageError("loss_threshold={} must lie in [0, 1]; 0 switches it off",
                      spec.loss_threshold);
  }
  if (spec.loss_threshold > 0.5 && spec.loss_threshold < 1.0) {
    return UsageError(
        "loss_threshold={} would clamp every probability to one value: [t, 1 - t] is empty above "
        "0.5",
        spec.loss_threshold);
  }
  return OkStatus();
}

}  // namespace

RowPrecision ModelSpec::row_precision() const {
  return {.pull = FindPrecision(pull_precision).value(),
          .push = FindPrecision(push_precision).value()};
}

InteractionOptions ModelSpec::interaction_options(MatrixProducts* products) const {
  InteractionOptions options = {.widths = {bottom_mlp.back()},
                                .itself = interaction_itself,
                                .dcn_num_layers = dcn_num_layers,
                                .dcn_low_rank_dim = dcn_low_rank_dim,
                                .products = products,
                                .own = interaction_own};
  options.widths.insert(options.widths.end(), feature_widths.begin(), feature_widths.end());
  return options;
}

uint32_t ModelSpec::interaction_width() const {
  return Interactions().Make(interaction, interaction_options()).value()->width();
}

Status ModelSpec::Validate() const {
  if (bottom_mlp.size() < 2) {
    return UsageError(
        "arch_mlp_bot names {} widths; it needs the number of dense features and at least one "
        "layer, as in 13-512-16",
        bottom_mlp.size());
  }
  if (top_mlp.empty()) {
    return UsageError("arch_mlp_top is empty; it needs at least the last layer, of width 1");
  }
  RETURN_IF_ERROR(CheckWidths("arch_mlp_bot", bottom_mlp));
  RETURN_IF_ERROR(CheckWidths("arch_mlp_top", top_mlp));
  if (feature_widths.empty()) {
    return UsageError("the model has no embedding tables; it needs at least one");
  }
  if (top_mlp.back() != 1) {
    return UsageError(
        "arch_mlp_top ends in {}; the last layer gives one probability, so its width must be 1",
        top_mlp.back());
  }
  RETURN_IF_ERROR(Interactions().Validate(interaction).Annotate("arch_interaction_op"));
  RETURN_IF_ERROR(CheckDeclared(fmt::format("interaction {}", interaction),
                                Interactions().OptionsOf(interaction), interaction_own));
  if (dcn_num_layers == 0 || dcn_low_rank_dim == 0) {
    return UsageError("dcn_num_layers={} and dcn_low_rank_dim={} must be 1 or more", dcn_num_layers,
                      dcn_low_rank_dim);
  }
  if (interaction_itself && !Interactions().DeclarationOf(interaction).pairs_itself) {
    return UsageError("arch_interaction_itself needs arch_interaction_op=dot; it is \"{}\"",
                      interaction);
  }
  RETURN_IF_ERROR(CheckVectors(*this));
  RETURN_IF_ERROR(CheckLoss(*this));
  if (batch_norm && bottom_mlp.size() == 2 && top_mlp.size() == 1) {
    return UsageError(
        "batch_norm normalises hidden layers, and the MLPs have none, only their last layers: "
        "leave batch_norm out, or give an MLP a hidden layer");
  }
  RETURN_IF_ERROR(CheckDropout("dropout_bot", dropout_bot, bottom_mlp, 2));
  return CheckDropout("dropout_top", dropout_top, top_mlp, 1);
}

}  // namespace rowhouse
