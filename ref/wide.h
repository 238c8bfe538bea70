/* One loop, compiled for several widths of vector registers; the widest that this machine has is taken.
 *
 * The loop itself is the always-inlined function NAME_loop, in plain C. CS_REF_WIDE(NAME, (parameters), (arguments))
 * makes the function NAME of it. Such loops compute with integers only, so that every width gives the same results.
 * Where the compiler or the machine knows nothing of this, NAME is NAME_loop. */
#ifndef CS_REF_WIDE_H
#define CS_REF_WIDE_H

#define CS_REF_LOOP static inline __attribute__((always_inline)) void

#if defined __x86_64__ && defined __GNUC__ && !defined COLDSTART_NARROW
/* clang-format off */
#define CS_REF_WIDE(name, parameters, arguments)                                                                       \
    __attribute__((target("avx2"))) static void name##_avx2 parameters { name##_loop arguments; }                      \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static void name##_avx512 parameters {               \
        name##_loop arguments;                                                                                         \
    }                                                                                                                  \
    static void name parameters {                                                                                      \
        if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&                                \
            __builtin_cpu_supports("avx512vl"))                                                                        \
            name##_avx512 arguments;                                                                                   \
        else if (__builtin_cpu_supports("avx2"))                                                                       \
            name##_avx2 arguments;                                                                                     \
        else                                                                                                           \
            name##_loop arguments;                                                                                     \
    }
/* clang-format on */
#else
/* clang-format off */
#define CS_REF_WIDE(name, parameters, arguments)                                                                       \
    static void name parameters { name##_loop arguments; }
/* clang-format on */
#endif

/* Eight bytes anywhere in memory, whatever they are of. */
typedef uint64_t cs_ref_word __attribute__((aligned(1), may_alias));

#endif
