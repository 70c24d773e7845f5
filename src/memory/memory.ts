/** A lasting statement of a caller: one short sentence. */
export interface Memory extends NewMemory {
  /** UUIDv7: ids of later memories are greater. */
  id: string
  /** Epoch milliseconds; `updatedAt` is the time of the last statement. */
  createdAt: number
  updatedAt: number
  vector: Vector | undefined
}

export interface NewMemory {
  kind: MemoryKind
  origin: Origin
  content: string
}

/** `preference`: a wish of the caller; `lesson`: advice for the next time. */
export type MemoryKind = 'fact' | 'preference' | 'lesson'

/**
 * The source of a memory: the caller's own words or tool output. Memories of one origin never change or confirm those
 * of the other.
 */
export type Origin = 'user' | 'tool'

export interface Vector {
  /** Name of the embedder. */
  model: string
  values: Float32Array
}

/** The message from which a memory was taken. */
export interface MemorySource {
  /** The session's internal key, and its id for the caller. */
  session: string
  sessionId: string
  messageIndex: number
  /** `retain <request id>` or `feedback <request id>`. */
  madeBy: string
}

/** Limit per caller; beyond it the memory with the oldest statement is removed. */
export const maxMemories = 1000
export const maxContentCharacters = 400
