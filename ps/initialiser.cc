#include "ps/initialiser.h"

namespace rowhouse {

Registry<Initialiser, InitialiserContext>& Initialisers() {
  static Registry<Initialiser, InitialiserContext> registry("initialiser");
  return registry;
}

}  // namespace rowhouse
