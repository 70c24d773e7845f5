import { diff3Merge } from 'node-diff3'

/**
 * Merges two changes of a text by lines: `mine` and `theirs` are changes of `base`. Undefined where both have changed the same lines or
 * lines next to each other, since only a person can decide then.
 */
export function mergeTexts({ mine, base, theirs }: { mine: string; base: string; theirs: string }): string | undefined {
  const [a, o, b] = [mine, base, theirs].map((text) => text.split('\n')) as [string[], string[], string[]]
  const regions = diff3Merge(a, o, b, { excludeFalseConflicts: true })
  if (regions.some(({ conflict }) => conflict !== undefined)) return undefined
  return regions.flatMap(({ ok = [] }) => ok).join('\n')
}
