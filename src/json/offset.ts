/** The values that a list is ordered by. */
type Position = readonly (string | number)[]

/** The opaque `offset` of a page: the position of its last element, as base64url of a JSON array. */
export function toOffset(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/** The inverse of `toOffset`; undefined for any other text. Callers check the types of the values. */
export function parsePosition(offset: string): Position | undefined {
  try {
    const values: unknown = JSON.parse(Buffer.from(offset, 'base64url').toString())
    return Array.isArray(values) && values.every(isPlain) ? values : undefined
  } catch {
    return undefined
  }
}

/** Postgres accepts no NUL in a text. */
function isPlain(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && !value.includes('\0'))
}

/** Position of a row in a list that is ordered by time. */
export interface RowPosition {
  /** Epoch milliseconds. */
  createdAt: number
  requestId: string
  owner: string
}

/** The position in the `offset` of a list of runs, or of rows that belong to runs; undefined for any other text. */
export function parseRowPosition(offset: string): RowPosition | undefined {
  const [createdAt, requestId, owner, ...more] = parsePosition(offset) ?? []
  if (typeof requestId !== 'string' || typeof owner !== 'string' || more.length > 0) return undefined
  return Number.isSafeInteger(createdAt) ? { createdAt: Number(createdAt), requestId, owner } : undefined
}
