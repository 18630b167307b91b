// The first byte chooses options, the rest is the text.
#include "tests/fuzz/text_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rowhouse;
  if (size == 0) return 0;
  TextFormatOptions options;
  options.needs_label = (data[0] & 1) == 0;
  if ((data[0] & 2) != 0) options.own = {{"data_sub_sample_rate", "0.5"}};
  const auto format = TextFormats().Make("criteo", options);
  Require(format.ok(), "the options");
  FuzzFormat(*format.value(), {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
