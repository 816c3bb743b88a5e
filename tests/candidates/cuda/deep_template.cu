// expect: fail line 5: 
// Endless recursion of templates is the compiler's to stop.
template <int N>
struct deep {
    static constexpr int value = deep<N + 1>::value;
};
int x = deep<0>::value;
