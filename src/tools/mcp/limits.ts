const mebibyte = 1024 * 1024

/** What a server may cost us, whatever it sends: its tools are an administrator's choice, its bytes are not. */
export const limits = {
  /** Of one message: a result with its images stands in one. */
  messageBytes: 32 * mebibyte,
  /** Of all pages of its list of tools together. */
  listCharacters: 8 * mebibyte,
  listPages: 64,
  /** That may be used; of more, an administrator names some. */
  tools: 500,
  nameCharacters: 128,
  descriptionCharacters: 4096,
  schemaCharacters: 65_536,
  schemaDepth: 64,
  /** To check an input, and to make what checks it: a pattern can take for ever. */
  checkMs: 250,
  compileMs: 1000,
  /** Of what it writes to its standard error. */
  logLinesPerMinute: 100,
  logLineCharacters: 500,
  /** Lines in a step's log that tell of a call's progress. */
  progressLines: 50,
} as const
