// expect: fail 'x'
// A #line that points at a host file must not quote it.
#line 1 "/etc/passwd"
x y;
