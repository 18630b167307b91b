#include "worker/dense/interaction.h"

namespace rowhouse {

InteractionRegistry& Interactions() {
  static InteractionRegistry registry("interaction");
  return registry;
}

}  // namespace rowhouse
