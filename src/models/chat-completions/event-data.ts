const dataField = 'data'

/**
 * Reads the data of server-sent events from a text that arrives in pieces. Names, ids and comments of events are skipped. One object without
 * closures, because there is a reader for each open stream of a model: `eventsource-parser` takes 1.5 KB for each.
 */
export class EventData {
  private readonly maxSize: number
  private readonly accept: { accept(data: string): void }
  /** Pieces of a line whose end has not arrived. */
  private line: string[] = []
  /** Data of an event whose end has not arrived; undefined for none. */
  private data: string | undefined
  /** Characters of `line` and `data`. */
  private size = 0
  private hasBegun = false
  private endsWithReturn = false

  constructor(accept: { accept(data: string): void }, maxSize: number) {
    this.accept = accept
    this.maxSize = maxSize
  }

  /** Passes on the data of each event that the piece completes. Returns false when an event is larger than the limit. */
  feed(piece: string): boolean {
    const text = piece.includes('\r') || this.endsWithReturn || !this.hasBegun ? this.normalize(piece) : piece
    let at = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
      if (this.line.length > 0) this.endLine(this.takeLine() + text.slice(at, end))
      else this.endLine(text.slice(at, end))
      at = end + 1
    }
    if (at < text.length) {
      this.line.push(at === 0 ? text : text.slice(at))
      this.size += text.length - at
    }
    return this.size <= this.maxSize
  }

  /** Each line ends with a line feed. The first line has no byte order mark. */
  private normalize(piece: string): string {
    let text = this.endsWithReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') this.endsWithReturn = piece.endsWith('\r')
    if (!this.hasBegun && text.startsWith('\ufeff')) text = text.slice(1)
    this.hasBegun ||= piece !== ''
    return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text
  }

  private takeLine(): string {
    const line = this.line.join('')
    this.line = []
    this.size -= line.length
    return line
  }

  private endLine(line: string): void {
    if (line === '') {
      const { data } = this
      this.data = undefined
      this.size = 0
      if (data !== undefined) this.accept.accept(data)
    } else if (line.startsWith(dataField) && (line.length === dataField.length || line[dataField.length] === ':')) {
      const value = line.slice(line[dataField.length + 1] === ' ' ? dataField.length + 2 : dataField.length + 1)
      this.data = this.data === undefined ? value : `${this.data}\n${value}`
      this.size += value.length + 1
    }
  }
}
