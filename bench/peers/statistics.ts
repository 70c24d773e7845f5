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

/** Returns the items in random order (Fisher-Yates). */
export function shuffle<Item>(items: readonly Item[], random: () => number): Item[] {
  const shuffled = [...items]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!]
  }
  return shuffled
}
