/* Stands in for libMIOpen_private.so.1: a library that is loaded, and that depends on the HIP run
 * time that it is linked with, or on none. */
int private_library;
