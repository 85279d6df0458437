#ifndef MIOPEN_CONFIG_H_
#define MIOPEN_CONFIG_H_

/* Only the switches that client code tests. */
#define MIOPEN_BACKEND_OPENCL 0
#define MIOPEN_BACKEND_HIP 1
#define MIOPEN_USE_RNE_BFLOAT16 1

#endif /* MIOPEN_CONFIG_H_ */
