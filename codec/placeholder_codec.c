typedef int stk_placeholder_codec;
