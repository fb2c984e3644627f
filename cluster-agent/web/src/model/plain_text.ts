// Names for places that act on some of them. They come from whoever sends profiles.

/** Without what a terminal or a spreadsheet would act on; as in exports of the server. */
export const harmless = (name: string): string =>
  name
    .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, " ")
    .replace(/^(?=[=+@]|-(?!\[\w+ ))/, "'");
