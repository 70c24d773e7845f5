import { ownValue } from './merge.ts'

/**
 * Returns the former index of each element of a list. Elements match by `name`, elements without a name by `keyOf`. Several elements with the
 * same key match in order if their number is unchanged; otherwise these elements have no former index.
 */
export function earlierElements(
  before: readonly unknown[],
  after: readonly unknown[],
  keyOf: (element: unknown) => string,
): (number | undefined)[] {
  const keys = (list: readonly unknown[]) => list.map((element) => (nameOf(element) === undefined ? keyOf(element) : undefined))
  const earlier = Map.groupBy([...keys(before).entries()], ([, key]) => key)
  const later = Map.groupBy([...keys(after).entries()], ([, key]) => key)
  const indexByName = new Map(before.map((element, index) => [nameOf(element), index] as const).toReversed())
  return after.map((element, index) => {
    const name = nameOf(element)
    if (name !== undefined) return indexByName.get(name)
    const key = keyOf(element)
    const [oldEntries, newEntries] = [earlier.get(key) ?? [], later.get(key) ?? []]
    if (oldEntries.length !== newEntries.length) return undefined
    return oldEntries[newEntries.findIndex(([at]) => at === index)]?.[0]
  })
}

/**
 * Former indexes for comparing and writing: a new element without a name, and without an equal former element, counts as a change of the
 * unmatched former element at the same index.
 */
export function elementsBefore(before: readonly unknown[], after: readonly unknown[]): (number | undefined)[] {
  const oldIndexes = earlierElements(before, after, JSON.stringify)
  const isFree = (index: number) => index < before.length && nameOf(before[index]) === undefined && !oldIndexes.includes(index)
  return oldIndexes.map((oldIndex, index) => oldIndex ?? (nameOf(after[index]) === undefined && isFree(index) ? index : undefined))
}

export function nameOf(element: unknown): string | undefined {
  const name = ownValue(element, 'name')
  return typeof name === 'string' ? name : undefined
}
