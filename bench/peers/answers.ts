/** Reads texts out of whole HTTP answers, as the bare sockets of `load.ts` deliver them: latin1, with head and chunk lengths. */

/** Returns the body of an answer, without the framing of the chunked transfer coding. */
export function bodyOf(answer: string): string {
  const headEnd = answer.indexOf('\r\n\r\n') + 4
  const isChunked = /^transfer-encoding: *chunked/im.test(answer.slice(0, headEnd))
  if (!isChunked) return answer.slice(headEnd)
  let body = ''
  for (let at = headEnd; ;) {
    const sizeEnd = answer.indexOf('\r\n', at)
    const size = parseInt(answer.slice(at, sizeEnd), 16)
    if (sizeEnd < 0 || !(size > 0)) return body
    body += answer.slice(sizeEnd + 2, sizeEnd + 2 + size)
    at = sizeEnd + 2 + size + 2
  }
}

/** Returns the text at `path` (`a.0.b`) of a JSON answer; empty when it is missing. Throws for a body that is not JSON. */
export function fieldOf(answer: string, path: string): string {
  return textAt(JSON.parse(bodyOf(answer)), path)
}

/** Joins the texts at `path` of all events of a stream of server-sent events. */
export function deltasOf(answer: string, path: string): string {
  const data = [...bodyOf(answer).matchAll(/^data: *(\{.*)$/gm)].map(([, json]) => json!)
  return data.map((json) => textAt(JSON.parse(json), path)).join('')
}

function textAt(value: unknown, path: string): string {
  const text = path.split('.').reduce<unknown>((parent, key) => (parent as Record<string, unknown> | null | undefined)?.[key], value)
  return typeof text === 'string' ? text : ''
}
