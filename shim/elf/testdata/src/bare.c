// A shared object with neither data nor relocations. With lld's
// -z rodynamic, nothing in it is writable.
__attribute__((visibility("default"))) int bare_answer(void) {
  return 42;
}
