// ROWHOUSE_TARGET_CLONES before a function: compiled for AVX-512, AVX2 and the base instruction
// set; the loader picks once. All give the same bits, because the tree is built with
// -ffp-contract=off and every horizontal sum has a fixed order.
//
// ROWHOUSE_HAS_TARGETS is defined where these instruction sets are compiled for: a kernel whose
// code differs between them has a function for each, __attribute__((target("avx2"))).
//
// Off under sanitizers (the loader picks before their runtime has started) and for other compilers.
// ROWHOUSE_KERNEL_BODY before a function: it is inlined into each caller, and so is compiled for
// the caller's instruction set. A test can compile the same body for each of them.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(ROWHOUSE_NO_TARGET_CLONES)
#define ROWHOUSE_HAS_TARGETS
#define ROWHOUSE_TARGET_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ROWHOUSE_TARGET_CLONES
#endif

#define ROWHOUSE_KERNEL_BODY inline __attribute__((always_inline))
