import type { Owner } from '../access/owner.ts'
import type { Acting } from '../audit/acts.ts'

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
  /** Set on a memory learned from text of strangers. */
  trust?: 'untrusted'
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

/** Port: the store of memories. Each function is one transaction, durable when it resolves. */
export interface MemoryStore {
  /** A number that grows with every change of the caller's memories; 0 when there never was any. */
  version(caller: Owner): Promise<number>
  /** All memories, oldest first, with their version or an earlier one. */
  all(caller: Owner): Promise<{ version: number; memories: Memory[] }>
  /** Lists memories newest first, after the id `before` when given. */
  page(caller: Owner, page: { limit: number; before: string | undefined }): Promise<StoredMemory[]>
  /** Deletes a memory; false when the caller has no memory of this id. */
  delete(caller: Owner, id: string, acting?: Acting): Promise<boolean>
  /** The question and the tool calls of a run; undefined when the run stored no message or its session is gone. */
  material(caller: Owner, requestId: string): Promise<Material | undefined>
  /** True when memories were already taken from a run; `madeBy` as in `MemorySource`. */
  hasTaken(caller: Owner, session: string, madeBy: string): Promise<boolean>
  /**
   * Applies the changes of one message. `moved`: the version is no longer `seen`, nothing was changed. `gone`: the
   * message's session is gone, nothing was changed.
   */
  apply(
    caller: Owner,
    readVersion: number,
    changes: readonly Change[],
    source: MemorySource,
    now: number,
  ): Promise<'done' | 'moved' | 'gone'>
  /** Stores vectors of memories without one; changes nothing else. */
  setVectors(caller: Owner, vectors: ReadonlyMap<string, Vector>): Promise<void>
}

export type Change =
  | { kind: 'add'; memory: Memory }
  /** The memory was stated again. */
  | { kind: 'confirm'; id: string }
  | { kind: 'remove'; id: string }
  /** Removes memories that were made by `madeBy` earlier and have no other source. */
  | { kind: 'retract'; madeBy: string }

export interface StoredMemory extends Memory {
  /** Latest first; never empty. */
  sources: { sessionId: string; messageIndex: number }[]
}

export interface Material {
  session: string
  sessionId: string
  /** Index of the human message. */
  messageIndex: number
  /** The text of the question, and of the messages that the caller has sent to the run. */
  question: string
  /** Tool calls, in order of start. */
  steps: MaterialStep[]
  /** True for a run without text of strangers. */
  isClean?: boolean
}

export interface MaterialStep {
  tool: string
  input: unknown
  status: 'success' | 'error'
  output: unknown
}

/** Port: the store of callers' feedback on runs. */
export interface FeedbackStore {
  /**
   * Replaces earlier feedback and adds the job that learns from it. `unknown`: the caller has no such chat. `running`:
   * the chat has not ended. `gone`: the session was deleted.
   */
  save(caller: Owner, feedback: Feedback, jobId: string): Promise<'saved' | 'unknown' | 'running' | 'gone'>
  find(caller: Owner, requestId: string): Promise<Feedback | undefined>
}

export interface Feedback {
  requestId: string
  /** From -1 to 1. */
  score: number
  comment: string | undefined
  /** Epoch milliseconds. */
  createdAt: number
}
