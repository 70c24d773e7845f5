/** Port: turns texts into vectors that are close where the meanings are close. Adapters live in models/. */
export interface Embedder {
  /** Vectors of embedders with different names cannot be compared. */
  readonly name: string
  /** False for a text in a language that the model does not know, whose vector would mean nothing. Default: every text is known. */
  knows?(text: string): boolean
  /** Characters of the texts of a call that keep the call short. Default: the caller decides. */
  readonly batchCharacters?: number
  /** Returns one vector per text, in order, all of the same length. Every expected failure is a `ModelError`. */
  embed(texts: readonly string[], signal: AbortSignal, options?: EmbedOptions): Promise<number[][]>
}

export interface EmbedOptions {
  /** Length of the vectors; default: that of the model. */
  dimensions?: number | undefined
  /** Called with the tokens of the texts, as the provider counted them. */
  onTokens?(tokens: number): void
}
