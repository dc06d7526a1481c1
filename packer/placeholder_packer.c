typedef int stk_placeholder_packer;
