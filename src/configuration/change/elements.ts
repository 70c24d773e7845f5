import { ownValue } from './merge.ts'

/**
 * For each element of a list the index of the one that it was before: that of the same `name`, else one for which `keyOf` says the same.
 * Where several say the same, they are told apart by their order, as long as there are as many as before; else none of them is known.
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
    const [was, is] = [earlier.get(key) ?? [], later.get(key) ?? []]
    return was.length === is.length ? was[is.findIndex(([at]) => at === index)]?.[0] : undefined
  })
}

/**
 * The same to be looked at or written side by side: an element without a name that is not as any was before is taken for a change of the one
 * in its place.
 */
export function elementsBefore(before: readonly unknown[], after: readonly unknown[]): (number | undefined)[] {
  const from = earlierElements(before, after, JSON.stringify)
  const isFree = (index: number) => index < before.length && nameOf(before[index]) === undefined && !from.includes(index)
  return from.map((known, index) => known ?? (nameOf(after[index]) === undefined && isFree(index) ? index : undefined))
}

export function nameOf(element: unknown): string | undefined {
  const name = ownValue(element, 'name')
  return typeof name === 'string' ? name : undefined
}
