// expect: fail constexpr
// So is a constant expression without end.
constexpr int endless()
{
    int i = 0;
    while (true)
        i ^= 1;
}
constexpr int x = endless();
