import { AgentCoreError } from '../error.ts'

/** A server-sent event. */
export interface ServerSentEvent {
  /** The last `id` of the stream so far; empty before the first `id`. */
  id: string
  /** `message` unless the stream names another type. */
  type: string
  data: string
}

/** Most characters of an event: a stream that never ends an event must not fill the memory of the client. */
const maxEventCharacters = 64_000_000

const lineBreak = /\r\n?|\n/g

/**
 * Parses an event stream (WHATWG HTML, "Interpreting an event stream") piece by piece, in time linear in its length. Comments and `retry`
 * are ignored, and so is an event whose closing blank line never arrives. Throws `AgentCoreError` for an event of more than 64 million
 * characters.
 */
export class EventParser {
  private readonly decoder = new TextDecoder()
  private id = ''
  private type = ''
  private data: string[] = []
  /** Pieces of the line that has no end yet. */
  private line: string[] = []
  /** Characters that arrived since the last event. */
  private size = 0
  /** The last piece ended with CR: a LF at the start of the next piece belongs to the same line break. */
  private endsWithReturn = false

  /** Returns the events that these bytes complete. A character may be split between pieces. */
  push(bytes: Uint8Array): ServerSentEvent[] {
    let text = this.decoder.decode(bytes, { stream: true })
    if (text === '') return []
    if (this.endsWithReturn && text.startsWith('\n')) text = text.slice(1)
    this.endsWithReturn = text.endsWith('\r')
    const events: ServerSentEvent[] = []
    let start = 0
    for (const { 0: ending, index } of text.matchAll(lineBreak)) {
      const event = this.endLine(text.slice(start, index))
      if (event) events.push(event)
      start = index + ending.length
    }
    this.size = events.length > 0 ? text.length - start : this.size + text.length
    if (this.data.length === 0 && this.line.length === 0) this.size = 0
    if (this.size > maxEventCharacters) throw tooLong()
    if (start < text.length) this.line.push(text.slice(start))
    return events
  }

  private endLine(end: string): ServerSentEvent | undefined {
    const line = this.line.length === 0 ? end : this.line.join('') + end
    this.line = []
    if (line === '') return this.dispatch()
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') this.data.push(value)
    else if (name === 'event') this.type = value
    else if (name === 'id' && !value.includes('\0')) this.id = value
    return undefined
  }

  private dispatch(): ServerSentEvent | undefined {
    const { id, data } = this
    const type = this.type === '' ? 'message' : this.type
    this.type = ''
    if (data.length === 0) return undefined
    this.data = []
    return { id, type, data: data.join('\n') }
  }
}

function tooLong(): AgentCoreError {
  const message = `An event of the stream has more than ${maxEventCharacters} characters.`
  return new AgentCoreError(message, { status: 200, errorType: 'InvalidReply' })
}
