# What preset fuzz builds in place of the program: each *_fuzz.cc with libFuzzer (clang). The readers
# of data need the floor `common` and the rooms worker/data, and neither MPI nor OpenMP.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(glog REQUIRED IMPORTED_TARGET libglog)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)
find_package(ZLIB REQUIRED)

file(GLOB SOURCES CONFIGURE_DEPENDS common/*.cc worker/data/*.cc worker/data/text/*.cc
     worker/data/mapping/*.cc worker/data/blocks/*.cc worker/data/convert/*.cc
     worker/data/traces/*.cc worker/data/sources/*.cc)
list(FILTER SOURCES EXCLUDE REGEX "sources/(synthetic|random)\\.cc$")  # They read no file.
add_library(fuzzed OBJECT ${SOURCES})
target_compile_options(fuzzed PUBLIC -fsanitize=fuzzer-no-link -Wno-unknown-warning-option)
target_link_libraries(fuzzed PUBLIC rowhouse_options Threads::Threads PkgConfig::glog fmt::fmt
                                    PkgConfig::xxhash nlohmann_json::nlohmann_json ZLIB::ZLIB
                                    PkgConfig::libzstd)

file(GLOB FUZZ_TARGETS CONFIGURE_DEPENDS tests/fuzz/*_fuzz.cc)
foreach(FILE ${FUZZ_TARGETS})
  get_filename_component(NAME ${FILE} NAME_WE)
  add_executable(${NAME} ${FILE})
  target_link_libraries(${NAME} PRIVATE fuzzed)
  target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
endforeach()
