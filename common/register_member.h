// Registers something before main, from a file of its own:
//   REGISTER_MEMBER(CachePolicies().Add<Lru>("lru"));
// The files of a room are compiled as one, so each object has a name of its own.
#pragma once

#define REGISTER_MEMBER(...) REGISTER_MEMBER_NUMBERED(__COUNTER__, __VA_ARGS__)
#define REGISTER_MEMBER_NUMBERED(NUMBER, ...) REGISTER_MEMBER_NAMED(NUMBER, __VA_ARGS__)
#define REGISTER_MEMBER_NAMED(NUMBER, ...) const bool kRegistered##NUMBER = __VA_ARGS__
