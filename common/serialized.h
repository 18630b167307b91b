// SERIALIZED(a, b), in a struct: these members are what messages carry of it, in this order
// (common/wire/codec.h). An order that changes is another protocol.
#pragma once

#define SERIALIZED(...)              \
  template <class Archive>           \
  void serialize(Archive& archive) { \
    archive(__VA_ARGS__);            \
  }
