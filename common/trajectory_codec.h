// Trajectories and what a worker finds out about them as bytes, for messages between processes of
// one run (files have formats of their own).
#ifndef DOPPLER_COMMON_TRAJECTORY_CODEC_H_
#define DOPPLER_COMMON_TRAJECTORY_CODEC_H_

#include "common/byte_stream.h"
#include "common/group_gradient.h"
#include "common/stage.h"
#include "common/trajectory.h"

namespace doppler {

// False when the byte is no stage.
bool get_stage(ByteReader& reader, Stage& stage);

void put_trajectory(const Trajectory& trajectory, ByteWriter& writer);
// False when the bytes are no trajectory. Whether it replays is for whoever knows the graph.
bool get_trajectory(ByteReader& reader, Trajectory& trajectory);

void put_group_gradient(const GroupGradient& gradient, ByteWriter& writer);
// The reader tells whether there were enough bytes. Sizes and values are judged by whoever knows
// the graph (is_sound).
void get_group_gradient(ByteReader& reader, GroupGradient& gradient);

}  // namespace doppler

#endif  // DOPPLER_COMMON_TRAJECTORY_CODEC_H_
