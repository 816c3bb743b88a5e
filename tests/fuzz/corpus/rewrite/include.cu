
#inc\
lude "a/../b"