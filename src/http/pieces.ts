/** A buffer of one byte takes some 200 in memory: so many of them become one. */
const joined = 256

/** The pieces of a body, in order. Their memory stays near to their bytes, in however small pieces these come. */
export class BodyChunks {
  private whole: Buffer[] = []
  private last: Buffer[] = []

  add(piece: Buffer): void {
    this.last.push(piece)
    if (this.last.length < joined) return
    this.whole.push(Buffer.concat(this.last))
    this.last = []
  }

  clear(): void {
    this.whole = []
    this.last = []
  }

  toText(): string {
    const all = [...this.whole, ...this.last]
    return (all.length === 1 ? all[0]! : Buffer.concat(all)).toString('utf8')
  }
}
