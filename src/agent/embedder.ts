/** Port: texts as vectors, which are near each other where the texts mean about the same. Adapters live in models/. */
export interface Embedder {
  /** Vectors of different names can't be compared. */
  readonly name: string
  /** A vector for each text, in order, all of one length. Every expected failure is a `ModelError`. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<number[][]>
}
