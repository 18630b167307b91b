#include "worker/dense/interaction.h"

namespace rowhouse {

Registry<Interaction, InteractionOptions>& Interactions() {
  static Registry<Interaction, InteractionOptions> registry("interaction");
  return registry;
}

}  // namespace rowhouse
