/** Port: turns texts into vectors that are close where the meanings are close. Adapters live in models/. */
export interface Embedder {
  /** Vectors of embedders with different names cannot be compared. */
  readonly name: string
  /** Returns one vector per text, in order, all of the same length. Every expected failure is a `ModelError`. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<number[][]>
}
