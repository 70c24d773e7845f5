import type { Chunk } from '../../api/client.ts'

/** Remembers the chunks of a run, since a run that lost its process goes on from an earlier chunk. */
export interface RewindLog {
  /** Adds a chunk. Returns the chunks that still count if the chunk goes back; undefined for an ordinary chunk. */
  add(chunk: Chunk): readonly Chunk[] | undefined
}

export function createRewindLog(): RewindLog {
  let chunks: Chunk[] = []
  return {
    add(chunk) {
      const last = chunks.at(-1)?.number ?? 0
      if (chunk.number > last) {
        chunks.push(chunk)
        return undefined
      }
      chunks = chunks.filter(({ number }) => number <= chunk.number)
      return chunks
    },
  }
}
