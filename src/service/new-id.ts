import { randomUUIDv7 } from 'node:crypto'

/**
 * Returns a function that creates UUIDs of version 7 in ascending order. `randomUUIDv7` alone has no order within a millisecond, but lists and
 * replaced documents are ordered by id. The 12 bits after the version count the ids of a millisecond (RFC 9562, section 6.2, method 1).
 */
export function createNewId(now: () => number = Date.now): () => string {
  let latest = 0n
  return () => {
    const earliest = BigInt(now()) << 12n
    latest = earliest > latest ? earliest : latest + 1n
    const digits = latest.toString(16).padStart(15, '0')
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-7${digits.slice(12)}${randomUUIDv7().slice(18)}`
  }
}
