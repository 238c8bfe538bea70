/* Processes that leave by _exit, which runs nothing at the end, write what gcov counted first. Linked with --wrap=_exit,
 * for the preset `coverage` alone. */
void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap__exit(int status) {
    __gcov_dump();
    __real__exit(status);
}
