/** Reproducible random numbers from 0 to 1 (mulberry32). A seed repeats the order of faults and requests, but not their timing. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Independent random numbers for each part of a chaos run. */
export function createRandomOf(seed: number): (part: string) => () => number {
  return (part) => createRandom(Buffer.from(part).reduce((state, byte) => Math.imul(state, 31) + byte, seed))
}
