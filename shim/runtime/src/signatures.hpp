// What the trampoline has to know of a function's type: how many words of arguments are on the
// stack, and what a refusal returns. The compiler reads it from the declaration.
//
// By the System V ABI for x86-64, integers, enumerations and pointers go to six registers and float
// and double to eight, in order, and what finds no register goes to the stack, eight bytes each.
#ifndef MIOPEN_SHIM_SIGNATURES_HPP_
#define MIOPEN_SHIM_SIGNATURES_HPP_

#include "state.h"

#include <cstddef>
#include <type_traits>

namespace miopen_shim {

using std::size_t;

template <typename T>
constexpr bool in_integer_register = std::is_integral<T>::value || std::is_enum<T>::value ||
                                     std::is_pointer<T>::value || std::is_reference<T>::value;
#ifdef __SIZEOF_INT128__ // takes two registers, and is an integral type in some modes of compilers
template <> constexpr bool in_integer_register<__int128> = false;
template <> constexpr bool in_integer_register<unsigned __int128> = false;
#endif

template <typename T>
constexpr bool in_vector_register = std::is_same<T, float>::value || std::is_same<T, double>::value;

constexpr unsigned beyond(unsigned arguments, unsigned registers) {
  return arguments > registers ? arguments - registers : 0;
}

template <typename... Arguments> constexpr unsigned stack_words() {
  static_assert(((in_integer_register<Arguments> || in_vector_register<Arguments>)&&... && true),
                "an argument is neither integer, enumeration, pointer, float nor double: the "
                "wrapper does not keep its registers");
  constexpr unsigned words = beyond((0u + ... + in_integer_register<Arguments>), 6) +
                             beyond((0u + ... + in_vector_register<Arguments>), 8);
  static_assert(words < SHIM_WORDS_UNKNOWN, "too many arguments");
  return words;
}

template <typename Result> constexpr unsigned refusal() {
  static_assert(std::is_void<Result>::value || in_integer_register<Result> ||
                    in_vector_register<Result>,
                "the result is neither void, integer, enumeration, pointer, float nor double: the "
                "wrapper does not keep its registers");
  if (std::is_same<Result, const char *>::value)
    return SHIM_RESULT_TEXT;
  return std::is_integral<Result>::value || std::is_enum<Result>::value ? SHIM_RESULT_STATUS
                                                                        : SHIM_RESULT_ZERO;
}

// A function whose type is not known.
struct unknown {
  static constexpr shim_signature value = {SHIM_WORDS_UNKNOWN, SHIM_RESULT_STATUS};
};

template <typename Function> struct of;

template <typename Result, typename... Arguments> struct of<Result(Arguments...)> {
  static constexpr shim_signature value = {stack_words<Arguments...>(), refusal<Result>()};
};

// Each call of a variadic function may put another number of words on the stack.
template <typename Result, typename... Arguments> struct of<Result(Arguments..., ...)> {
  static constexpr shim_signature value = {SHIM_WORDS_UNKNOWN, refusal<Result>()};
};

#if __cpp_noexcept_function_type
template <typename Result, typename... Arguments>
struct of<Result(Arguments...) noexcept> : of<Result(Arguments...)> {};
template <typename Result, typename... Arguments>
struct of<Result(Arguments..., ...) noexcept> : of<Result(Arguments..., ...)> {};
#endif

// Whether two types are passed in the same way and say as much: both pointers, both float, or both
// integers or enumerations of one size.
template <typename A, typename B>
constexpr bool same_value = std::is_same<A, B>::value ||
                            (std::is_pointer<A>::value && std::is_pointer<B>::value) ||
                            ((std::is_integral<A>::value || std::is_enum<A>::value) &&
                             (std::is_integral<B>::value || std::is_enum<B>::value) &&
                             sizeof(A) == sizeof(B));

template <typename A, typename B> struct same_call { static constexpr bool value = false; };

template <typename A, typename B, typename... As, typename... Bs>
struct same_call<A(As...), B(Bs...)> {
  template <bool same_count, typename = void> struct arguments {
    static constexpr bool value = false;
  };
  template <typename unused> struct arguments<true, unused> {
    static constexpr bool value = (same_value<As, Bs> && ... && true);
  };
  static constexpr bool value =
      same_value<A, B> && arguments<sizeof...(As) == sizeof...(Bs)>::value;
};

// hooked_miopenFoo is the type that the hooks take miopenFoo to have.
#define SHIM_HOOK(result, name, parameters) using hooked_##name = result parameters;
#define SHIM_USE SHIM_HOOK
#include "hooks.def"
#undef SHIM_HOOK
#undef SHIM_USE

// The signature of function number I. Generated code specialises it for those that are declared.
template <unsigned I> struct number : unknown {};

} // namespace miopen_shim

#endif
