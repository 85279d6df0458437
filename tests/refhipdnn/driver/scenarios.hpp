#pragma once

// What the driver can do. Each returns the program's exit code: 0 where all is as it should be, 1
// where something is not, 2 where the driver was called wrongly.

int run_graphs(bool device); // with tensors on the HIP device, else on the host
int run_misuse();
// argv are the scenario's arguments, with a null at the end.
int run_scenario(const char *name, char **argv);
