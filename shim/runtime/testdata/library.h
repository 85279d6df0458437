/* A small MIOpen. */
#ifndef LIBRARY_H_
#define LIBRARY_H_
#ifdef __cplusplus
extern "C" {
#endif
int miopenAlpha(int x); /* x + 1 */
double miopenBeta(int a, double b, int c, int d, int e, int f, int g, int h,
                  double i);                /* the sum */
int miopenCallsBack(int (*function)(void)); /* calls it and returns 0 */
const char *miopenText(int x);              /* "text" */
void miopenNothing(void);
#ifndef LIBRARY_UNDECLARED
#define LIBRARY_UNDECLARED
int miopenBare(void); /* 40 */
#endif
#ifdef __cplusplus
}
#endif
#endif
