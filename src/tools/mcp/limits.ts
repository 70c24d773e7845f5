const mebibyte = 1024 * 1024

/** Limits per server. An administrator has chosen the server, but the data of the server is untrusted. */
export const limits = {
  /** Size of a message; a result with all images is a single message. */
  messageBytes: 32 * mebibyte,
  /** Total size of all pages of the tool list. */
  listCharacters: 8 * mebibyte,
  listPages: 64,
  /** Usable tools; from a longer list, an administrator has to select with `include`. */
  tools: 500,
  nameCharacters: 128,
  descriptionCharacters: 4096,
  schemaCharacters: 65_536,
  schemaDepth: 64,
  /** Time to check an input, and to compile a schema: a pattern can backtrack endlessly. */
  checkMs: 250,
  compileMs: 1000,
  /** Limits for logging the standard error. */
  logLinesPerMinute: 100,
  logLineCharacters: 500,
  /** Progress notifications of a call that are written to the log of the step. */
  progressLines: 50,
  /** Sampling requests of a call, and their size. */
  samples: 5,
  sampleTokens: 4096,
  sampleCharacters: 100_000,
  /** Input-required results of a call, and requests in one. */
  inputRounds: 8,
  inputRequests: 10,
  questionCharacters: 2000,
  /** Pause before a call that the server wants repeated without input. */
  repeatMs: 500,
} as const
