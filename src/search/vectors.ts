import { createHash } from 'node:crypto'

/** A vector as signed bytes, which take a quarter of the memory and rank alike. Only the direction counts. */
export interface ByteVector {
  values: Int8Array
  /** Euclidean length. */
  length: number
}

/** Scales the largest component to 127. A vector without a direction (zeros, NaN) has length 0. */
export function toByteVector(values: ArrayLike<number>): ByteVector {
  let largest = 0
  for (let index = 0; index < values.length; index++) largest = Math.max(largest, Math.abs(values[index]!))
  const scale = largest > 0 && Number.isFinite(largest) ? 127 / largest : 0
  return withLength(Int8Array.from(values, (value) => Math.round(value * scale)))
}

export function withLength(values: Int8Array): ByteVector {
  return { values, length: Math.sqrt(dot(values, values, 0)) }
}

/** From -1 to 1; 0 for vectors of different sizes, and for vectors without a direction. */
export function cosine(a: ByteVector, b: ByteVector): number {
  const lengths = a.length * b.length
  return a.values.length === b.values.length && lengths > 0 ? dot(a.values, b.values, 0) / lengths : 0
}

/** The dot product of `a` and the part of `all` that begins at `start`. */
export function dot(a: Int8Array, all: Int8Array, start: number): number {
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += a[index]! * all[start + index]!
  return sum
}

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

/** The text of a passage of which the vector is made. */
export function textToEmbed({ heading, text }: { heading: string; text: string }, title: string): string {
  const headings = heading.split(' > ')
  const context = headings[0] === title ? headings : [title, ...headings]
  return [context.filter(Boolean).join(', '), text].filter(Boolean).join('. ')
}

/** Identifies a text wherever vectors are kept. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
