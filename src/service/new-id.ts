import { randomUUIDv7 } from 'node:crypto'

/**
 * Returns a function that creates UUIDs of version 7 in ascending order. `randomUUIDv7` alone has no order within a millisecond, but lists and
 * replaced documents are ordered by id. The 12 bits after the version count the ids of a millisecond (RFC 9562, section 6.2, method 1).
 */
export function createNewId(now: () => number = Date.now): () => string {
  let ms = 0
  let count = 0
  let digits = ''
  return () => {
    const current = now()
    const isNext = current <= ms && ++count <= maxCount
    if (!isNext) {
      ms = Math.max(current, ms + 1)
      count = 0
      const hex = ms.toString(16).padStart(12, '0')
      digits = `${hex.slice(0, 8)}-${hex.slice(8)}-7`
    }
    return digits + count.toString(16).padStart(3, '0') + randomUUIDv7().slice(18)
  }
}

/** The largest number of 12 bits. Further ids of a millisecond take the next millisecond. */
const maxCount = 0xfff
