/** A line of a comparison of two texts. */
export interface ComparedLine {
  kind: 'same' | 'removed' | 'added' | 'skipped'
  text: string
}

/** Lines shown before and after a change. */
const context = 2

/**
 * Compares two values of several lines: the equal lines at both ends are skipped but for two, and the lines between are shown as removed
 * and added.
 */
export function compareLines(before: string, after: string): ComparedLine[] {
  const [old, next] = [before.split('\n'), after.split('\n')]
  const shorter = Math.min(old.length, next.length)
  let head = 0
  while (head < shorter && old[head] === next[head]) head++
  let tail = 0
  while (tail < shorter - head && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail++
  const toLines = (kind: ComparedLine['kind'], texts: readonly string[]) => texts.map((text) => ({ kind, text }))
  const skip = (count: number): ComparedLine[] =>
    count > 0 ? [{ kind: 'skipped', text: `${count} equal ${count === 1 ? 'line' : 'lines'}` }] : []
  const end = next.slice(next.length - tail)
  return [
    ...skip(head - context),
    ...toLines('same', next.slice(Math.max(0, head - context), head)),
    ...toLines('removed', old.slice(head, old.length - tail)),
    ...toLines('added', next.slice(head, next.length - tail)),
    ...toLines('same', end.slice(0, context)),
    ...skip(tail - context),
  ]
}
