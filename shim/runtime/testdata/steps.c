/* Runs one call instruction by instruction, with the processor's trap flag, and looks around at
 * each one that is in the wrapper: whether the stack can be unwound to main, and whether it is the
 * stub's.
 *
 * Prints "STEPS in the stub, STEPS elsewhere in the wrapper, CALLS of them system calls, FAILURES
 * to unwind", for miopenBeta, which has an argument on the stack. The first calls, which read the
 * environment and open the ring, are not looked at: they block signals. */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

int main(void);

static uintptr_t text_start, text_end, stub_start;
static volatile int in_stub, elsewhere, system_calls, failures;
static uintptr_t last_failure;
enum { stub_size = 30 };

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *found) {
  if (_Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(context)) == (void *)main)
    *(int *)found = 1;
  return _URC_NO_REASON;
}

static void trap(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  if (at < text_start || at >= text_end)
    return;
  if (at >= stub_start && at < stub_start + stub_size)
    in_stub++;
  else
    elsewhere++;
  static const unsigned char system_call[] = {0x0f, 0x05};
  system_calls += !memcmp((const void *)at, system_call, sizeof system_call);
  int found = 0;
  _Unwind_Backtrace(visit, &found);
  if (!found) {
    failures++;
    last_failure = at;
  }
}

static int find_text(struct dl_phdr_info *object, size_t size, void *unused) {
  (void)size, (void)unused;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && stub_start - start < p->p_memsz) {
      text_start = start;
      text_end = start + p->p_memsz;
      return 1;
    }
  }
  return 0;
}

int main(void) {
  stub_start = (uintptr_t)dlsym(RTLD_DEFAULT, "miopenBeta");
  dl_iterate_phdr(find_text, NULL);
  struct sigaction action = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  double sum = miopenBeta(1, 0.5, 3, 4, 5, 6, 7, 8, 9.25);
  sum += miopenBeta(1, 0.5, 3, 4, 5, 6, 7, 8, 9.25);
  const uint64_t trap_flag = 0x100;
  __asm__ volatile(
      "subq $128, %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\taddq $128, %%rsp" ::"r"(trap_flag)
      : "memory", "cc");
  sum += miopenBeta(1, 0.5, 3, 4, 5, 6, 7, 8, 9.25);
  __asm__ volatile(
      "subq $128, %%rsp\n\tpushfq\n\tandq %0, (%%rsp)\n\tpopfq\n\taddq $128, %%rsp" ::"r"(
          ~trap_flag)
      : "memory", "cc");
  printf("%d in the stub, %d elsewhere in the wrapper, %d of them system calls, %d failures to "
         "unwind\n",
         in_stub, elsewhere, system_calls, failures);
  if (failures)
    printf("the last one at offset %#lx\n", (unsigned long)(last_failure - text_start));
  return sum != 3 * 43.75;
}
