// A program that is linked against the fixture.
extern int fx_answer(void);
extern int fx_twice(void);
int main(void) {
  return fx_answer() == 42 && fx_twice() == 2 ? 0 : 1;
}
