/* The private MIOpen that this plugin is linked against. */
#ifndef MIOPEN_PROVIDER_PLUGIN_PRIVATE_API_H_
#define MIOPEN_PROVIDER_PLUGIN_PRIVATE_API_H_

#include "provider/private/api.h"

#ifdef __cplusplus
extern "C" {
#endif

const struct miopen_private_api *private_api(void);

/* Somewhere in the private library. */
const void *private_api_address(void);

#ifdef __cplusplus
}
#endif

#endif
