/* A HIP run time with almost nothing in it: for a library that depends on one that cannot be used.
 */
int hipGetDevice(int *device) {
  *device = 0;
  return 0;
}
