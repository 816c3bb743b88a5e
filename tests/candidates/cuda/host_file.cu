// expect: fail line 3: #include of a file outside the candidate: /etc/passwd
// No file of the host gets into a message.
#include "/etc/passwd"
