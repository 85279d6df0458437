// A shared object that exports nothing, so that no symbol is hashed.
extern int imported(void);
static int (*pointer)(void) = imported;
__attribute__((visibility("hidden"), used)) int (**keep)(void) = &pointer;
