#include "common/worker_progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"

namespace doppler {
namespace {

TEST(WorkerProgress, WhatAWorkerWritesItsSupervisorReads) {
  const WorkerProgress board = WorkerProgress::create(3);
  const WorkerProgress other = WorkerProgress::attach(dup(board.descriptor()));
  ASSERT_EQ(other.worker_count(), 3U);
  WorkerLine& written = other.line(1);
  const WorkerLine& read = board.line(1);
  EXPECT_EQ(read.phase(), WorkerPhase::kStarting);
  EXPECT_EQ(read.beats(), 0U);
  written.beat();
  written.enter(WorkerPhase::kPlaying);
  written.finish_episode(std::chrono::milliseconds(5));
  written.finish_episode(std::chrono::milliseconds(3));
  EXPECT_EQ(read.beats(), 4U);
  EXPECT_EQ(read.episodes(), 2U);
  EXPECT_EQ(read.longest_episode(), std::chrono::milliseconds(5));
  EXPECT_EQ(read.phase(), WorkerPhase::kPlaying);
  EXPECT_EQ(board.line(0).beats(), 0U);
  EXPECT_EQ(board.line(2).beats(), 0U);
  board.line(1).reset();
  EXPECT_EQ(written.beats(), 0U);
  EXPECT_EQ(written.episodes(), 0U);
  EXPECT_EQ(written.phase(), WorkerPhase::kStarting);
}

TEST(WorkerProgress, RefusesWhatItIsNot) {
  const WorkerProgress board = WorkerProgress::create(2);
  EXPECT_THROW(board.line(2), SystemError);
  EXPECT_THROW(WorkerProgress::attach(-1), SystemError);
  const int empty = memfd_create("empty", MFD_CLOEXEC);
  EXPECT_THROW(WorkerProgress::attach(empty), SystemError);
  const int zeros = memfd_create("zeros", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(zeros, 192), 0);
  EXPECT_THROW(WorkerProgress::attach(zeros), SystemError);
  close(empty);
}

// The descriptors that a worker finds at fixed numbers are set up one after the other.
TEST(WorkerProgress, ItsDescriptorIsOutOfTheWayAndClosedOnExec) {
  const WorkerProgress board = WorkerProgress::create(1);
  EXPECT_GE(board.descriptor(), 16);
  EXPECT_TRUE((fcntl(board.descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
}

}  // namespace
}  // namespace doppler
