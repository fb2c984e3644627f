/* Replays corpus files through a fuzz target when libFuzzer is not linked. */
#include "common/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	int n_files = 0;

	for (int i = 1; i < argc; i++) {
		AUTO_FREE uint8_t *data = NULL;
		FILE *f = fopen(argv[i], "rb");
		long size = -1;

		if (f && fseek(f, 0, SEEK_END) == 0)
			size = ftell(f);
		if (size < 0) {
			fprintf(stderr, "%s: cannot read\n", argv[i]);
			return 1;
		}
		rewind(f);
		/* exactly as large as the input, so that ASan sees one byte too far */
		data = malloc(size > 0 ? (size_t)size : 1);
		if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
			fprintf(stderr, "%s: cannot read\n", argv[i]);
			return 1;
		}
		fclose(f);
		LLVMFuzzerTestOneInput(data, (size_t)size);
		n_files++;
	}
	printf("%d inputs\n", n_files);
	return n_files > 0 ? 0 : 1;
}
