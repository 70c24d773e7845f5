/** What lasts of what a caller said: one short sentence each. */
export interface Memory extends NewMemory {
  /** UUIDv7: later ones are greater. */
  id: string
  /** Epoch milliseconds; `updatedAt` is when it was last said. */
  createdAt: number
  updatedAt: number
  vector: Vector | undefined
}

export interface NewMemory {
  kind: MemoryKind
  origin: Origin
  content: string
}

/** `preference`: how the caller wants things; `lesson`: how to do better next time. */
export type MemoryKind = 'fact' | 'preference' | 'lesson'

/** Whose word it is: that of the caller, or of what a tool gave. One never changes, or speaks for, the other. */
export type Origin = 'user' | 'tool'

export interface Vector {
  /** Name of the embedder. */
  model: string
  values: Float32Array
}

/** The message that a memory was taken from. */
export interface MemorySource {
  /** The session's key, and its id as the caller knows it. */
  session: string
  sessionId: string
  messageIndex: number
  /** `retain <request id>` or `feedback <request id>`. */
  madeBy: string
}

/** Of one caller; beyond it the one that was said longest ago goes. */
export const maxMemories = 1000
export const maxContentCharacters = 400
