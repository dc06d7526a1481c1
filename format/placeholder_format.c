typedef int stk_placeholder_format;
