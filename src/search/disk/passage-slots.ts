import { dot, type ByteVector } from '../vectors.ts'

/** What a search needs of each passage, in memory: its document, length and vector, at the index of its id. */
export class PassageSlots {
  /** Number of the document; -1 for a free id. */
  documents = new Int32Array(1024).fill(-1)
  lengths = new Int32Array(1024)
  /** Euclidean lengths of the vectors, 0 without a vector. */
  private norms = new Float32Array(1024)
  private states = new Uint8Array(1024)
  private vectors = new Int8Array(0)
  private size = 0
  private readonly free: number[] = []
  /** All ids are below. */
  end = 0
  count = 0
  /** Passages that have a vector, or need none. */
  embedded = 0

  /** Takes an id that is free, or the given one. */
  add(document: number, length: number, id = this.free.pop() ?? this.end): number {
    for (let skipped = this.end; skipped < id; skipped++) this.free.push(skipped)
    this.end = Math.max(this.end, id + 1)
    if (this.end > this.documents.length) this.grow()
    this.documents[id] = document
    this.lengths[id] = length
    this.count++
    return id
  }

  remove(id: number): void {
    this.clear(id)
    this.documents[id] = -1
    this.free.push(id)
    this.count--
  }

  /** An empty vector: the passage needs none. */
  setVector(id: number, values: Int8Array): void {
    this.clear(id)
    this.states[id] = 1
    this.embedded++
    if (values.length === 0) return
    if (this.size !== values.length) {
      this.size = values.length
      this.vectors = new Int8Array(this.documents.length * this.size)
    }
    this.vectors.set(values, id * this.size)
    this.norms[id] = Math.sqrt(dot(values, values, 0))
  }

  clearVectors(): void {
    this.norms.fill(0)
    this.states.fill(0)
    this.vectors = new Int8Array(0)
    this.size = 0
    this.embedded = 0
  }

  /** Undefined for a passage without a vector. */
  cosine(id: number, { values, length }: ByteVector): number | undefined {
    const norm = this.norms[id]!
    if (norm === 0 || length === 0 || values.length !== this.size) return undefined
    return dot(values, this.vectors, id * this.size) / (norm * length)
  }

  /** At most `limit` ids of passages that need a vector. */
  missing(limit: number): number[] {
    const ids: number[] = []
    for (let id = 0; id < this.end && ids.length < limit; id++) if (this.documents[id]! >= 0 && this.states[id] === 0) ids.push(id)
    return ids
  }

  private clear(id: number): void {
    if (this.states[id] === 1) this.embedded--
    this.states[id] = 0
    this.norms[id] = 0
  }

  private grow(): void {
    const capacity = Math.max(this.end, Math.ceil(this.documents.length * 1.5))
    this.documents = copyTo(new Int32Array(capacity).fill(-1), this.documents)
    this.lengths = copyTo(new Int32Array(capacity), this.lengths)
    this.norms = copyTo(new Float32Array(capacity), this.norms)
    this.states = copyTo(new Uint8Array(capacity), this.states)
    this.vectors = copyTo(new Int8Array(capacity * this.size), this.vectors)
  }
}

function copyTo<T extends { set(from: T): void }>(target: T, from: T): T {
  target.set(from)
  return target
}
