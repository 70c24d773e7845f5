import { randomFillSync } from 'node:crypto'

/**
 * Returns a function that creates UUIDs of version 7 in ascending order. `randomUUIDv7` has no order within a millisecond, but lists and
 * replaced documents are ordered by id; and it joins an id of 20 strings, which takes 620 bytes. The 12 bits after the version count the ids of a
 * millisecond (RFC 9562, section 6.2, method 1).
 */
export function createNewId(now: () => number = Date.now): () => string {
  let ms = 0
  let count = 0
  let digits = ''
  const nextRandom = createRandom()
  return () => {
    const current = now()
    const isNext = current <= ms && ++count <= maxCount
    if (!isNext) {
      ms = Math.max(current, ms + 1)
      count = 0
      const hex = ms.toString(16).padStart(12, '0')
      digits = `${hex.slice(0, 8)}-${hex.slice(8)}-7`
    }
    return `${digits}${count.toString(16).padStart(3, '0')}-${nextRandom()}`
  }
}

/** The last two groups of an id: the variant of RFC 9562, and 62 random bits. The bytes are made for many ids at once. */
function createRandom(): () => string {
  const bytes = Buffer.alloc(8 * 256)
  let at = bytes.length
  return () => {
    if (at === bytes.length) {
      randomFillSync(bytes)
      at = 0
    }
    bytes[at] = (bytes[at]! & 0x3f) | 0x80
    const hex = bytes.toString('hex', at, (at += 8))
    return `${hex.slice(0, 4)}-${hex.slice(4)}`
  }
}

/** The largest number of 12 bits. Further ids of a millisecond take the next millisecond. */
const maxCount = 0xfff
