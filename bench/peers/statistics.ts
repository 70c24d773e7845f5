/** Median and quartiles of the values of a product, one value for each round. */
export interface Spread {
  low: number
  median: number
  high: number
}

/** Returns median and quartiles, with linear interpolation between neighbours. NaN without values. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  return { low: quantileOf(sorted, 0.25), median: quantileOf(sorted, 0.5), high: quantileOf(sorted, 0.75) }
}

/** Returns the quantile `q` (0 to 1) of sorted values. */
function quantileOf(sorted: readonly number[], q: number): number {
  const position = q * (sorted.length - 1)
  const lower = Math.floor(position)
  const lowerValue = sorted[lower] ?? NaN
  return lowerValue + ((sorted[lower + 1] ?? lowerValue) - lowerValue) * (position - lower)
}

/** Generator of numbers from 0 to 1, which a seed repeats (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns the items in random order (Fisher-Yates). */
export function shuffle<Item>(items: readonly Item[], random: () => number): Item[] {
  const shuffled = [...items]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!]
  }
  return shuffled
}
