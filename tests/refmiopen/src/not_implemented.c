/* The entry points of the stock library that this one does not implement: exported like the others,
 * they answer miopenStatusNotImplemented (6) whatever they are called with.
 *
 * not_implemented.inc is generated from the list of the stock exports, one line for each name that
 * implemented.txt does not have: NOT_IMPLEMENTED(miopenFoo). It is not included with the header,
 * whose prototypes these definitions contradict: a caller's arguments are simply left alone, which
 * the x86-64 calling convention allows. It is C, not assembly, so that a header which renames the
 * entry points by macros, and may declare something too, can be put in front with -include.
 */
#define NOT_IMPLEMENTED(name)                                                                      \
  __attribute__((visibility("default"))) int name(void);                                           \
  int name(void) {                                                                                 \
    return 6;                                                                                      \
  }

#include "not_implemented.inc"
