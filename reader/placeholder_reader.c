typedef int stk_placeholder_reader;
