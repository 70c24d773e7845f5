/** The conversation of a response with `store: false`, which a connection keeps for its next message. */
export interface Unstored {
  id: string
  items: unknown[]
  /** The stored response in front of the items. */
  base: string | undefined
}

interface Turn {
  body: Record<string, unknown>
  /** The response that the connection continues; undefined where the service knows the response. */
  previous: string | undefined
  /** What the connection keeps after this turn. `response`: empty where the turn has no end. */
  after(response: Record<string, unknown>): Unstored | undefined
}

/** Characters of a conversation that a connection keeps. */
const maxCharacters = 4 * 1024 * 1024

/** A message that continues the last response with `store: false` of its connection brings the conversation as its input. */
export function continueUnstored(sent: Record<string, unknown>, last: Unstored | undefined): Turn {
  const { previous_response_id: previous, ...rest } = sent
  const isContinued = last !== undefined && previous === last.id
  const base = isContinued ? last.base : typeof previous === 'string' ? previous : undefined
  const input = toItems(sent['input'])
  const items = isContinued && input ? [...last.items, ...input] : input
  return {
    body: isContinued && items ? { ...rest, input: items, ...(base !== undefined && { previous_response_id: base }) } : sent,
    previous: isContinued ? last.id : undefined,
    after({ id, output }) {
      const isKept = sent['store'] === false && !sent['conversation'] && typeof id === 'string' && Array.isArray(output)
      if (!isKept || !items) return undefined
      const kept = [...items, ...output]
      return JSON.stringify(kept).length > maxCharacters ? undefined : { id, items: kept, base }
    },
  }
}

/** Undefined for an input that the service refuses. */
function toItems(input: unknown): unknown[] | undefined {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  return Array.isArray(input) ? input : undefined
}
