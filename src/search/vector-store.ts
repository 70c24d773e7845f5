/** Port: keeps vectors by the hash of their text and the name of their encoder. Texts are encoded once, by one process at a time. */
export interface VectorStore {
  /** The stored vectors of some of the hashes. */
  find(encoder: string, hashes: readonly string[]): Promise<Map<string, Int8Array>>
  add(encoder: string, vectors: ReadonlyMap<string, Int8Array>): Promise<void>
  /** Removes the vectors of all encoders for texts that were deleted. Where the same text is still in use, it is encoded again. */
  remove(hashes: readonly string[]): Promise<void>
  /** Removes vectors that no process has read for 90 days. */
  removeUnused(): Promise<void>
  /** True if this process may encode texts for the next `forMs` milliseconds. False while another process holds the lease. */
  claim(encoder: string, forMs: number): Promise<boolean>
  /** Ends the lease of this process. */
  release(encoder: string): Promise<void>
}

/** A store of this process alone, which keeps nothing. */
export function createVectorMemory(): VectorStore {
  return {
    find: async () => new Map(),
    add: async () => {},
    remove: async () => {},
    removeUnused: async () => {},
    claim: async () => true,
    release: async () => {},
  }
}
