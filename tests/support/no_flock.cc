// Preloaded (LD_PRELOAD) into a process: its file system knows no flock, like some Lustre, NFS and
// DVS mounts.
#include <cerrno>

extern "C" int flock(int, int) {
  errno = ENOLCK;
  return -1;
}
