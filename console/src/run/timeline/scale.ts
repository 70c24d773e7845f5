/** A time span in which something worked, in epoch milliseconds. */
export interface Interval {
  start: number
  end: number
}

/** A stretch of the axis. `from` and `to` are fractions of its width. */
export interface Stretch extends Interval {
  from: number
  to: number
  /** True if nothing worked in the meantime; the stretch is narrower than the time. */
  isIdle: boolean
}

/** Maps times to fractions of the width, with idle gaps compressed. */
export interface Scale {
  stretches: readonly Stretch[]
  /** Fraction of the width, from 0 to 1. Times outside are clamped. */
  place: (time: number) => number
}

/** An idle gap is compressed if it is longer than this, and than a tenth of the work. */
const minIdleMs = 2_000
const minIdleShare = 0.1
/** Width of a compressed gap. */
const idleWidth = 0.04
const maxIdleWidth = 0.4

/** Makes the scale of an axis from `start` to `end` on which `work` was done. */
export function createScale({ start, end }: Interval, work: readonly Interval[]): Scale {
  const whole = { start, end: Math.max(end, start + 1) }
  const parts = split(whole, work)
  const idleCount = parts.filter(({ isIdle }) => isIdle).length
  const workMs = parts.reduce((sum, part) => sum + (part.isIdle ? 0 : part.end - part.start), 0)
  const widthOfIdle = idleCount === 0 ? 0 : workMs === 0 ? 1 / idleCount : Math.min(idleWidth, maxIdleWidth / idleCount)
  const widthPerMs = workMs === 0 ? 0 : (1 - widthOfIdle * idleCount) / workMs
  let from = 0
  const stretches = parts.map((part): Stretch => {
    const width = part.isIdle ? widthOfIdle : (part.end - part.start) * widthPerMs
    const stretch = { ...part, from, to: from + width }
    from = stretch.to
    return stretch
  })
  return { stretches, place: (time) => placeIn(stretches, time) }
}

interface AxisPart extends Interval {
  isIdle: boolean
}

/** Splits the axis at its long idle gaps. */
function split({ start, end }: Interval, work: readonly Interval[]): AxisPart[] {
  const gaps = gapsOf({ start, end }, work)
  const idleMs = gaps.reduce((sum, gap) => sum + gap.end - gap.start, 0)
  const threshold = Math.max(minIdleMs, (end - start - idleMs) * minIdleShare)
  const parts: AxisPart[] = []
  let position = start
  for (const gap of gaps.filter((gap) => gap.end - gap.start > threshold)) {
    if (gap.start > position) parts.push({ start: position, end: gap.start, isIdle: false })
    parts.push({ ...gap, isIdle: true })
    position = gap.end
  }
  if (position < end) parts.push({ start: position, end, isIdle: false })
  return parts
}

/** The times between `start` and `end` at which nothing worked. */
function gapsOf({ start, end }: Interval, work: readonly Interval[]): Interval[] {
  const gaps: Interval[] = []
  let position = start
  for (const interval of work.toSorted((a, b) => a.start - b.start)) {
    if (interval.start > position) gaps.push({ start: position, end: Math.min(interval.start, end) })
    position = Math.max(position, interval.end)
  }
  if (position < end) gaps.push({ start: position, end })
  return gaps
}

/** The stretches are ordered, so the one with the time is found by halving. */
function placeIn(stretches: readonly Stretch[], time: number): number {
  let low = 0
  let high = stretches.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (stretches[middle]!.end < time) low = middle + 1
    else high = middle
  }
  const stretch = stretches[low]
  if (!stretch) return 0
  const share = (time - stretch.start) / (stretch.end - stretch.start)
  return stretch.from + Math.min(Math.max(share, 0), 1) * (stretch.to - stretch.from)
}
