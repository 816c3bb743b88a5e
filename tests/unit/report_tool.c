/* `rkb report` without the evaluator that the program rkb holds, too. */
#include "results/cmd_report.h"

int main(int argc, char **argv)
{
    return rkb_cmd_report(argc, argv);
}
