// Which function of several of one name it is, wherever and from whichever release it was built.

const LONGEST = 512; // bytes; longer files are their own keys

const size = (text: string): number => new TextEncoder().encode(text).length;

/**
 * The name of a file and its last folder, without the folder's version, as frame_file_key() of the
 * server: "/go/pkg/mod/example.com/yaml@v1.2.3/scan.go" is "yaml/scan.go".
 */
export function fileKey(file: string): string {
  const name = file.lastIndexOf("/");
  if (name < 0 || (file.length >= LONGEST / 3 && size(file) >= LONGEST)) return file;
  let folder = file.slice(0, name);
  folder = folder.slice(folder.lastIndexOf("/") + 1);
  const at = folder.indexOf("@", 1);
  if (at > 0) folder = folder.slice(0, at);
  let end = folder.length;
  while (end > 0 && "0123456789.-_".includes(folder[end - 1])) end--;
  return folder.slice(0, end) + file.slice(name);
}
