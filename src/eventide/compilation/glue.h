/* The table of linked kernels, which is written when they are compiled. */

#include <stdint.h>

typedef int (*entry_point)(void *result, uint64_t *words, void **failure);

/* One form of a kernel: what it takes and gives, as the glue reads it, how many arguments and words, and where it begins. */
typedef struct {
    const char *arguments;
    const char *result;
    int count, words, result_bytes;
    entry_point run;
} overload;

typedef struct {
    const char *name;
    int count;
    const overload *overloads;
} kernel;

extern const kernel eventide_kernels[];
extern const int eventide_kernel_count;
