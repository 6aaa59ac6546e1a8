/*
 * Replays a corpus through LLVMFuzzerTestOneInput, so that gcc's sanitizers see in every test run
 * what the fuzzer once found. Arguments: files and folders. No argument or no file is a failure.
 */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;

    if (file == NULL || fstat(fileno(file), &status) < 0) {
        perror(path);
        exit(1);
    }
    uint8_t *data = malloc((size_t)status.st_size + 1);
    size_t size = data == NULL ? 0 : fread(data, 1, (size_t)status.st_size, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int replay(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int count = 0;

    if (folder == NULL)
        return replay_file(path);
    while ((entry = readdir(folder)) != NULL) {
        char inner[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        count += replay(inner);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++)
        count += replay(argv[i]);
    printf("%d inputs replayed\n", count);
    return count > 0 ? 0 : 1;
}
