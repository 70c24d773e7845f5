import { Readable } from 'node:stream'

/** A smaller body is not worth a stream. */
const minStreamedBytes = 16 * 1024

export interface WireBody {
  body: string | Readable
  /** Alternating names and values. */
  headers: readonly string[]
}

/**
 * The body of a request, and its headers. undici keeps a body as long as the response lasts, minutes for a streamed answer. A long prompt is
 * therefore sent as a stream, which lets its bytes go.
 */
export function toWireBody(text: string): WireBody {
  if (text.length < minStreamedBytes) return { body: text, headers: [] }
  let bytes: Buffer | null = Buffer.from(text)
  const headers = ['content-length', String(bytes.length)]
  const body = new Readable({
    read() {
      this.push(bytes)
      if (bytes) this.push(null)
      bytes = null
    },
  })
  return { body, headers }
}
