import type { Owner } from '../access/owner.ts'
import type { Memory, MemorySource, Vector } from './memory.ts'

/** Port: where the memories of callers are kept. Each function is one transaction, durable when it answers. */
export interface MemoryStore {
  /** Grows with every change of what is kept of the caller; 0 where nothing ever was. */
  version(caller: Owner): Promise<number>
  /** All, oldest first, and the version that they are of or one before it. */
  all(caller: Owner): Promise<{ version: number; memories: Memory[] }>
  /** Newest first, behind the id `before` where given. */
  page(caller: Owner, page: { limit: number; before: string | undefined }): Promise<StoredMemory[]>
  /** False where the caller has none of this id. */
  delete(caller: Owner, id: string): Promise<boolean>
  /** What a run said and did; undefined where it left no message, or its session is gone. */
  material(caller: Owner, requestId: string): Promise<Material | undefined>
  /** Whether something was taken from a run before; `madeBy` as in `MemorySource`. */
  hasTaken(caller: Owner, session: string, madeBy: string): Promise<boolean>
  /**
   * Makes these changes, all from one message. `moved`: what is kept has another version than `seen` by now, nothing was changed;
   * `gone`: so with the message's session.
   */
  apply(caller: Owner, seen: number, changes: readonly Change[], source: MemorySource, now: number): Promise<'done' | 'moved' | 'gone'>
  /** Keeps vectors of memories that are there without; nothing else changes. */
  setVectors(caller: Owner, vectors: ReadonlyMap<string, Vector>): Promise<void>
}

export type Change =
  | { kind: 'add'; memory: Memory }
  /** It was said again. */
  | { kind: 'confirm'; id: string }
  | { kind: 'remove'; id: string }
  /** Removes what was made by this earlier, and has no other source. */
  | { kind: 'retract'; madeBy: string }

export interface StoredMemory extends Memory {
  /** Latest first; never empty. */
  sources: { sessionId: string; messageIndex: number }[]
}

export interface Material {
  session: string
  sessionId: string
  /** Of the human message. */
  messageIndex: number
  question: string
  /** Calls of tools, in order of start. */
  steps: MaterialStep[]
}

export interface MaterialStep {
  tool: string
  input: unknown
  status: 'success' | 'error'
  output: unknown
}

/** Port: what callers thought of runs. */
export interface FeedbackStore {
  /**
   * Replaces an earlier one, and adds the job that learns from it. `unknown`: the caller has no such chat; `running`: it has no end yet; `gone`: its
   * session was deleted.
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
