/** Chunks that are joined into one buffer: a buffer of one byte takes about 200 bytes of memory. */
const chunksPerBuffer = 256

/** The chunks of a body, in order. Their memory stays close to their bytes, however small the chunks are. */
export class BodyChunks {
  private joined: Buffer[] = []
  private recent: Buffer[] = []

  add(chunk: Buffer): void {
    this.recent.push(chunk)
    if (this.recent.length < chunksPerBuffer) return
    this.joined.push(Buffer.concat(this.recent))
    this.recent = []
  }

  clear(): void {
    this.joined = []
    this.recent = []
  }

  toText(): string {
    const buffers = [...this.joined, ...this.recent]
    return (buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers)).toString('utf8')
  }
}
