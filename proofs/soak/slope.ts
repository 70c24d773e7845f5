/** The straight line through points, by least squares. */
export interface Slope {
  /** Units of `y` per unit of `x`. */
  slope: number
  /** Half of the 95 % confidence interval of the slope. */
  margin: number
}

/** Fits a line to at least three points. The margin takes the errors of the points as independent and normally distributed. */
export function slopeOf(points: readonly { x: number; y: number }[]): Slope {
  const count = points.length
  const meanX = mean(points.map(({ x }) => x))
  const meanY = mean(points.map(({ y }) => y))
  const spread = sum(points.map(({ x }) => (x - meanX) ** 2))
  const slope = sum(points.map(({ x, y }) => (x - meanX) * (y - meanY))) / spread
  const residuals = sum(points.map(({ x, y }) => (y - meanY - slope * (x - meanX)) ** 2))
  return { slope, margin: quantile(count - 2) * Math.sqrt(residuals / (count - 2) / spread) }
}

/**
 * The 97.5 % quantile of Student's distribution, by the first terms of its expansion around that of the normal distribution (Abramowitz and
 * Stegun, 26.7.5). From 5 degrees on it is exact to 0.01.
 */
function quantile(degrees: number): number {
  const z = 1.959964
  const first = (z ** 3 + z) / 4
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384
  return z + first / degrees + second / degrees ** 2 + third / degrees ** 3
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
