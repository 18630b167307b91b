#include "tests/testing/testing.h"
#include "worker/client/rendezvous.h"

namespace rowhouse {
namespace {

constexpr uint64_t kGigabyte = 1'000'000'000;
const std::vector<std::string> kNames = {"PS node 0", "PS node 1", "PS node 2"};

TEST(NodesOpening, TheLineNamesTheNodeThatOpensLongest) {
  NodesOpening nodes(3);
  EXPECT_EQ(nodes.Line(kNames, 0), "");
  EXPECT_EQ(nodes.StateOf(0), "");
  for (const size_t n : {0, 1}) EXPECT_TRUE(nodes.Note(n, 0, 10 * kGigabyte, 1000));
  nodes.Note(0, 5 * kGigabyte, 10 * kGigabyte, 11'000);
  nodes.Note(1, 2 * kGigabyte, 10 * kGigabyte, 11'000);
  EXPECT_EQ(nodes.Line(kNames, 11'000),
            "PS node 1 opens its rows, 2.0 of 10.0 GB, about 40 s left (1 node more)");
  nodes.NoteOpen(1);
  EXPECT_EQ(nodes.Line(kNames, 11'000),
            "PS node 0 opens its rows, 5.0 of 10.0 GB, about 10 s left");
  nodes.NoteOpen(0);
  EXPECT_EQ(nodes.Line(kNames, 12'000), "");
}

TEST(NodesOpening, ItMovesWhenItsBytesDo) {
  NodesOpening nodes(1);
  EXPECT_TRUE(nodes.Note(0, 0, 0, 0)) << "the first word";
  EXPECT_FALSE(nodes.Note(0, 0, 0, 1000));
  EXPECT_FALSE(nodes.Note(0, 0, kGigabyte, 2000));
  EXPECT_TRUE(nodes.Note(0, 1, kGigabyte, 3000));
  EXPECT_FALSE(nodes.Note(0, 1, kGigabyte, 4000));
}

TEST(NodesOpening, WhatIsNotKnownIsNotSaid) {
  NodesOpening nodes(1);
  nodes.Note(0, kGigabyte, 0, 0);
  nodes.Note(0, 3 * kGigabyte, kGigabyte, 1000);
  EXPECT_EQ(nodes.Line(kNames, 1000), "PS node 0 opens its rows, 3.0 GB so far");
  nodes.Note(0, 3 * kGigabyte, 4 * kGigabyte, 1000);
  EXPECT_EQ(nodes.Line(kNames, 1000), "PS node 0 opens its rows, 3.0 of 4.0 GB, about 1 s left");
}

}  // namespace
}  // namespace rowhouse
