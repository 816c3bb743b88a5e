/* Runs a fuzz target over the files and folders of files that are given, without libFuzzer. */
#include "common/file.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    char *data;
    size_t len;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_file_read(path, 64 << 20, &data, &len, &err) != RKB_OK) {
        rkb_error_print(&err, "replay");
        return 0;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)data, len);
    free(data);
    return 1;
}

static int replay_folder(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        char *file = rkb_strf("%s/%s", path, entry->d_name);
        count += replay(file);
        free(file);
    }
    if (dir)
        closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += rkb_file_is_dir(argv[i]) ? replay_folder(argv[i]) : replay(argv[i]);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1; /* an empty corpus has tested nothing */
}
