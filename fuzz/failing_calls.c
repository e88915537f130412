/* Lets one call that changes a file fail, whoever makes it; loaded with LD_PRELOAD.

   fail_call(at, number) arms it: the call number `at` on regular files from now on fails with that
   errno, after half of its bytes if it writes and the number is ENOSPC. fail_call(-1, 0) counts
   alone. counted_calls() says how many there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long wanted = -2, counted;
static int number;

void fail_call(long at, int error) { wanted = at, number = error, counted = 0; }
long counted_calls(void) { return counted; }

static int due(int fd) {
  struct stat found;
  if (wanted < -1) return 0;
  if (fd >= 0 && (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode))) return 0;
  return counted++ == wanted;
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define FAIL return errno = number, -1
#define WRITING(name, parameters, whole, half) \
  ssize_t name parameters {                    \
    REAL(name);                                \
    if (!due(fd)) return real whole;           \
    if (number == ENOSPC && size > 1) (void)!real half; \
    FAIL;                                      \
  }

WRITING(write, (int fd, const void *from, size_t size), (fd, from, size), (fd, from, size / 2))
WRITING(pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at),
        (fd, from, size / 2, at))
WRITING(pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at),
        (fd, from, size / 2, at))

int fsync(int fd) { REAL(fsync); if (due(fd)) FAIL; return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); if (due(fd)) FAIL; return real(fd); }
int ftruncate(int fd, off_t size) { REAL(ftruncate); if (due(fd)) FAIL; return real(fd, size); }
int ftruncate64(int fd, off64_t size) {
  REAL(ftruncate64); if (due(fd)) FAIL; return real(fd, size);
}
int rename(const char *from, const char *to) {
  REAL(rename); if (due(-1)) FAIL; return real(from, to);
}
